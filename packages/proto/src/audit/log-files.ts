/** Which files of an audit directory are the log: one rule for the program that writes it and the one that verifies it. */
import { z } from "zod";
import { Timestamp } from "../ids/timestamp.ts";
import { quoteText } from "../text/escape-text.ts";
import { dayOf } from "./day-of.ts";

const SPELLING = /^[0-9]{4}-[0-9]{2}-[0-9]{2}\.jsonl$/u;
const DAY_LENGTH = "YYYY-MM-DD".length;

function isDayFileName(name: string): boolean {
  return SPELLING.test(name) && Timestamp.safeParse(`${name.slice(0, DAY_LENGTH)}T00:00:00.000Z`).success;
}

/** `YYYY-MM-DD.jsonl` with a day that exists, 1970 to 9999. In order of text they are in order of days. */
export const DayFileName = z.string().refine(isDayFileName, "expected YYYY-MM-DD.jsonl with a real day").brand<"DayFileName">();
export type DayFileName = z.infer<typeof DayFileName>;

/** The name of the file for the UTC day of `time`. */
export function dayFileOf(time: Timestamp): DayFileName {
  return DayFileName.parse(`${dayOf(time)}.jsonl`);
}

/** One entry of an audit directory, as lstat sees it: a link isn't followed. */
export interface DirectoryEntry {
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
  readonly bytes: number;
}

/** A file of the log, with its size when the directory was read. */
export interface LogFile {
  readonly name: DayFileName;
  readonly bytes: number;
}

/**
 * The log's files, oldest first, and the names of entries that are no part of the log, which both programs mention; or why this
 * directory can't be taken for a log at all.
 */
export type LogListing =
  | { readonly kind: "log"; readonly files: readonly LogFile[]; readonly strangers: readonly string[] }
  | { readonly kind: "refused"; readonly problem: string };

/** Folders that belong to the log: long strings, grant texts and signed tree heads. */
const FOLDERS: ReadonlySet<string> = new Set(["blobs", "grants", "checkpoints"]);

const KINDS = { file: "a file", directory: "a folder", link: "a symbolic link", other: "neither a file nor a folder" } as const;

/** Sorts a directory's entries into log, folders and strangers. Links in the place of either are refused: they lead elsewhere. */
export function listLog(entries: readonly DirectoryEntry[]): LogListing {
  const files: LogFile[] = [];
  const strangers: string[] = [];
  for (const { name, kind, bytes } of entries) {
    const day = DayFileName.safeParse(name);
    const expected = day.success ? "file" : FOLDERS.has(name) ? "directory" : undefined;
    if (expected !== undefined && kind !== expected) {
      return { kind: "refused", problem: `${quoteText(name)} is ${KINDS[kind]}, expected ${KINDS[expected]}` };
    }
    if (day.success) files.push({ name: day.data, bytes });
    else if (expected === undefined) strangers.push(name);
  }
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { kind: "log", files, strangers: strangers.sort() };
}
