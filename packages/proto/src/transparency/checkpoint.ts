/** C2SP checkpoints: which log, how many leaves, and the root over them, as the text of a signed note. */
import type { Hash32 } from "../ids/hash32.ts";
import { quoteText } from "../text/escape-text.ts";
import { decodeHash, encodeHash } from "./base64.ts";

const DECIMAL = /^(?:0|[1-9][0-9]*)$/u;
const ORIGIN_DIGITS = 32;

/** `extensions` are lines of others, kept and never written by us: witnesses needn't sign them. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash32;
  readonly extensions: readonly string[];
}

export type CheckpointReading =
  | { readonly kind: "ok"; readonly checkpoint: Checkpoint }
  | { readonly kind: "invalid"; readonly problem: string };

/**
 * The identity of an audit log's tree, which is also the name of the key that signs it. It follows from the tree's first record, so
 * that whoever holds the log can tell which tree a checkpoint is of.
 */
export function treeOrigin(firstLeaf: Hash32): string {
  return `boxmaker.local/audit/${firstLeaf.slice(0, ORIGIN_DIGITS)}`;
}

/** A number as checkpoints and proofs spell it, or undefined where the text is none. */
export function readDecimal(text: string): number | undefined {
  const number = Number(text);
  return DECIMAL.test(text) && Number.isSafeInteger(number) ? number : undefined;
}

/**
 * The text that is signed.
 *
 * @throws {RangeError} when it wouldn't be read as the same checkpoint
 */
export function writeCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  const text = [origin, String(size), encodeHash(root), ...extensions].map((line) => `${line}\n`).join("");
  const reading = readCheckpoint(text);
  if (reading.kind === "invalid") throw new RangeError(reading.problem);
  if (reading.checkpoint.extensions.length !== extensions.length) throw new RangeError("expected extensions of one line each");
  return text;
}

/** Reads the text of a note as a checkpoint. */
export function readCheckpoint(text: string): CheckpointReading {
  const invalid = (problem: string): CheckpointReading => ({ kind: "invalid", problem });
  const lines = text.split("\n");
  if (lines.pop() !== "" || lines.includes("")) return invalid("expected lines that aren't empty, each with a newline");
  const [origin, decimal, base64, ...extensions] = lines;
  if (origin === undefined || decimal === undefined || base64 === undefined) return invalid("expected origin, size and root hash");
  const size = readDecimal(decimal);
  if (size === undefined) return invalid(`expected a number of records, found ${quoteText(decimal)}`);
  const root = decodeHash(base64);
  if (root === undefined) return invalid(`expected the base64 of 32 bytes, found ${quoteText(base64)}`);
  return { kind: "ok", checkpoint: { origin, size, root, extensions } };
}
