/** The files of `audit/checkpoints/`: what they are called, and what the newest checkpoint is kept with so that a start needn't read the log. */
import { z } from "zod";
import { DayFileName } from "../audit/log-files.ts";
import { readRecordLine } from "../audit/record-line.ts";
import { SafeInteger } from "../ids/integers.ts";
import { type Parsed, parseJsonBytes } from "../json/parse-shape.ts";
import { type Checkpoint, readCheckpoint } from "./checkpoint.ts";
import { Frontier } from "./frontier.ts";
import { LogTrees } from "./log-trees.ts";
import { hashLeaf } from "./merkle-hash.ts";
import { readSignedNote, type SignedNote } from "./signed-note.ts";

/** The newest checkpoint. */
export const NEWEST_FILE = "newest.json";
/** The public keys, one a line, the newest one last. */
export const KEYS_FILE = "keys";

const DAY_FILE = /^(?<day>[0-9]{4}-[0-9]{2}-[0-9]{2})\.(?<first>[1-9][0-9]{0,15})\.note$/u;

/** Where the line of a checkpoint's last record lies. `offset` and `bytes` are in bytes of the file, the newline not counted. */
export const LastLine = z.strictObject({ file: DayFileName, offset: SafeInteger, bytes: SafeInteger }).readonly();
export type LastLine = z.infer<typeof LastLine>;

/**
 * `newest.json`. Of it only `note` is signed; the rest is checked against it: `before` and the record at `last` have to make its root.
 * `first` is the seq of the tree's first record.
 */
export const StoredCheckpoint = z
  .strictObject({ note: z.string(), first: SafeInteger.min(1), before: Frontier, last: LastLine })
  .readonly();
export type StoredCheckpoint = z.infer<typeof StoredCheckpoint>;

/** A note whose text is a checkpoint. Nothing is said about its signatures. */
export interface CheckpointNote {
  readonly note: SignedNote;
  readonly checkpoint: Checkpoint;
}

/** A stored checkpoint, and what its note says; `text` is the note as it was kept. */
export interface KeptCheckpoint extends Omit<StoredCheckpoint, "note">, CheckpointNote {
  readonly text: string;
}

/** The name of the newest checkpoint of a day (`YYYY-MM-DD`) and of the tree that begins with seq `first`. */
export function dayCheckpointFile(day: string, first: number): string {
  return `${day}.${first}.note`;
}

/** What such a name says; undefined where it is none. */
export function readDayCheckpointFile(name: string): { readonly day: string; readonly first: number } | undefined {
  const { day = "", first = "" } = DAY_FILE.exec(name)?.groups ?? {};
  const isDay = DayFileName.safeParse(`${day}.jsonl`).success;
  return isDay && Number.isSafeInteger(Number(first)) ? { day, first: Number(first) } : undefined;
}

/** Reads a note as a checkpoint. */
export function readCheckpointNote(bytes: Uint8Array): Parsed<CheckpointNote> {
  const reading = readSignedNote(bytes);
  if (reading.kind === "invalid") return reading;
  const checkpoint = readCheckpoint(reading.note.text);
  return checkpoint.kind === "invalid"
    ? checkpoint
    : { kind: "ok", value: { note: reading.note, checkpoint: checkpoint.checkpoint } };
}

/** Reads `newest.json`. */
export function readStoredCheckpoint(bytes: Uint8Array): Parsed<KeptCheckpoint> {
  const stored = parseJsonBytes(StoredCheckpoint, bytes);
  if (stored.kind === "invalid") return stored;
  const signed = readCheckpointNote(Buffer.from(stored.value.note));
  if (signed.kind === "invalid") return signed;
  const { note: text, ...rest } = stored.value;
  return { kind: "ok", value: { ...rest, ...signed.value, text } };
}

/**
 * The trees as they were when the checkpoint was signed, if `line` is the last record that it was signed over: which by the chain
 * stands for all before it.
 */
export function openStored(
  { first, before, checkpoint }: Pick<KeptCheckpoint, "first" | "before" | "checkpoint">,
  line: Uint8Array,
): LogTrees | undefined {
  const { origin, size, root } = checkpoint;
  const reading = readRecordLine(line);
  if (reading.kind !== "ok" || before.size !== size - 1 || reading.value.seq !== first + size - 1) return undefined;
  let trees: LogTrees;
  try {
    trees = LogTrees.from({ origin, first, before }, hashLeaf(line));
  } catch {
    // A frontier with another number of hashes than its size calls for: it isn't what was signed.
    return undefined;
  }
  return trees.root() === root ? trees : undefined;
}
