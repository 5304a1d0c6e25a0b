/** One file of the set with what it says: a grant, or what the owner says of tools or of trees. */
import { type Hash32, sha256 } from "@boxmaker/proto";
import { LABELS_FILE, TOOLS_FILE } from "../rules/grant-set.ts";
import { type ParsedGrantFile, parseGrantFile } from "./parse-grant-file.ts";
import { type ParsedLabelsFile, parseLabelsFile } from "./parse-labels-file.ts";
import { type ParsedToolsFile, parseToolsFile } from "./parse-tools-file.ts";

/** What a text was read as, which its name decides. */
export type Said =
  | { readonly kind: "grant"; readonly parsed: ParsedGrantFile }
  | { readonly kind: "tools"; readonly parsed: ParsedToolsFile }
  | { readonly kind: "labels"; readonly parsed: ParsedLabelsFile };

/** A text of the set. */
export interface SetText {
  /** As in a `SetFile`. */
  readonly file: string;
  /** As it is printed beside a problem. */
  readonly shown: string;
  readonly text: string;
  readonly sha256: Hash32;
  readonly said: Said;
}

function readSaid(file: string, text: string): Said {
  switch (file) {
    case TOOLS_FILE:
      return { kind: "tools", parsed: parseToolsFile(text) };
    case LABELS_FILE:
      return { kind: "labels", parsed: parseLabelsFile(text) };
    default:
      return { kind: "grant", parsed: parseGrantFile(text) };
  }
}

/** Reads a text by the name that its file has in the set. */
export function readSetText(file: string, shown: string, text: string): SetText {
  return { file, shown, text, sha256: sha256(text), said: readSaid(file, text) };
}
