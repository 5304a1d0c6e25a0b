/** Reads the folder of an audit log's checkpoints, for the program that goes on from the newest one and for those that check it. */
import { constants, lstatSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { quoteText } from "@boxmaker/proto";
import {
  type CheckpointNote,
  KEYS_FILE,
  type KeptCheckpoint,
  MAX_NOTE_BYTES,
  NEWEST_FILE,
  readCheckpointNote,
  readDayCheckpointFile,
  readStoredCheckpoint,
} from "@boxmaker/proto/transparency";

const FOLDER = "checkpoints";
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** A note inside JSON may need an escape for each of its bytes, and has its tree beside it. */
const MAX_FILE_BYTES = 4 * MAX_NOTE_BYTES;

/** The newest checkpoint there is; `kept` where it came with what a start can go on from. */
export interface NewestCheckpoint extends CheckpointNote {
  /** Its name in the folder. */
  readonly file: string;
  /** The seq of its tree's first record. */
  readonly first: number;
  /** The newest day, `YYYY-MM-DD`, that there is a checkpoint for; empty where there is none. */
  readonly day: string;
  readonly kept: KeptCheckpoint | undefined;
}

/** `damaged`: a file that has to be a checkpoint isn't one, in a printable phrase. */
export type NewestReading =
  | { readonly kind: "none" }
  | { readonly kind: "newest"; readonly newest: NewestCheckpoint }
  | { readonly kind: "damaged"; readonly problem: string };

/** A day's newest checkpoint, by the name of its file. */
export interface DayCheckpoint {
  readonly name: string;
  readonly day: string;
  readonly first: number;
}

/**
 * A file of the folder; undefined where there is none.
 *
 * @throws {Error} when it is no file, or too large for one of these
 */
export async function readCheckpointFile(directory: string, name: string): Promise<Buffer | undefined> {
  const path = join(directory, FOLDER, name);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  await using file = await open(path, READ);
  const found = await file.stat();
  if (!found.isFile() || found.size > MAX_FILE_BYTES) {
    throw new Error(`${quoteText(path)} is no file of at most ${MAX_FILE_BYTES} bytes`);
  }
  return await file.readFile();
}

/** The checkpoints of days, the newest tree last, and in a tree the newest day. */
export async function listDayCheckpoints(directory: string): Promise<readonly DayCheckpoint[]> {
  const path = join(directory, FOLDER);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return [];
  const days = (await readdir(path)).flatMap((name) => {
    const read = readDayCheckpointFile(name);
    return read === undefined ? [] : [{ name, ...read }];
  });
  return days.sort((a, b) => a.first - b.first || (a.day < b.day ? -1 : 1));
}

/** The public keys that are listed, the newest last. They prove nothing: whoever can change the log can change them too. */
export async function readListedKeys(directory: string): Promise<readonly string[]> {
  const text = (await readCheckpointFile(directory, KEYS_FILE))?.toString("utf8") ?? "";
  return text.split("\n").filter((line) => line !== "");
}

/**
 * The newest checkpoint of the log in `directory`: the kept one, or that of a day where it is of a later tree or a larger one. A file
 * that is no checkpoint is damage: none of them is ever half written.
 *
 * @throws {Error} when the file system fails
 */
export async function readNewestCheckpoint(directory: string): Promise<NewestReading> {
  const damaged = (name: string, problem: string): NewestReading => ({
    kind: "damaged",
    problem: `${quoteText(join(directory, FOLDER, name))} is no checkpoint: ${problem}`,
  });
  const whole = await readCheckpointFile(directory, NEWEST_FILE);
  const stored = whole === undefined ? undefined : readStoredCheckpoint(whole);
  if (stored?.kind === "invalid") return damaged(NEWEST_FILE, stored.problem);
  const day = (await listDayCheckpoints(directory)).at(-1);
  const bytes = day === undefined ? undefined : await readCheckpointFile(directory, day.name);
  const ofDay = bytes === undefined ? undefined : readCheckpointNote(bytes);
  if (day !== undefined && ofDay?.kind === "invalid") return damaged(day.name, ofDay.problem);
  if (day !== undefined && ofDay?.kind === "ok" && stored !== undefined && contradicts(day, ofDay.value, stored.value))
    return damaged(
      day.name,
      `of a tree that begins with record ${day.first} by its name, and ${stored.value.first} by ${NEWEST_FILE}`,
    );
  if (day !== undefined && ofDay?.kind === "ok" && isLater(day.first, ofDay.value, stored?.value)) {
    return { kind: "newest", newest: { ...ofDay.value, file: day.name, first: day.first, day: day.day, kept: undefined } };
  }
  if (stored === undefined) return { kind: "none" };
  const { note, checkpoint, first } = stored.value;
  return {
    kind: "newest",
    newest: { note, checkpoint, file: NEWEST_FILE, first, day: day?.day ?? "", kept: stored.value },
  };
}

/**
 * Whether a name says of the kept checkpoint's tree that it begins elsewhere. Names aren't signed, and an older checkpoint under that of
 * a later tree would count as the newest for ever.
 */
function contradicts({ first }: DayCheckpoint, { checkpoint }: CheckpointNote, kept: KeptCheckpoint): boolean {
  return checkpoint.origin === kept.checkpoint.origin && first !== kept.first;
}

/** Whether the checkpoint of a day is newer than the one that is kept. */
function isLater(first: number, { checkpoint }: CheckpointNote, kept: KeptCheckpoint | undefined): boolean {
  if (kept === undefined || first !== kept.first) return first > (kept?.first ?? 0);
  return checkpoint.size > kept.checkpoint.size;
}
