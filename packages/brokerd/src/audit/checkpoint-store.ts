/** The folder `audit/checkpoints/`: the newest checkpoint, one for each day, and the public keys. Every file appears whole or not at all. */
import { constants, lstatSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { type AbsPath, canonicalJson, quoteText } from "@boxmaker/proto";
import {
  type CheckpointNote,
  dayCheckpointFile,
  KEYS_FILE,
  type KeptCheckpoint,
  MAX_NOTE_BYTES,
  NEWEST_FILE,
  readCheckpointNote,
  readDayCheckpointFile,
  readSignedNote,
  readStoredCheckpoint,
  type SignedNote,
  type StoredCheckpoint,
  writeSignedNote,
} from "@boxmaker/proto/transparency";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const READ_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const WRITE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
/** A note inside JSON may need an escape for each of its bytes, and has its tree beside it. */
const MAX_FILE_BYTES = 4 * MAX_NOTE_BYTES;

/** The newest checkpoint there is; `kept` where it came with what a start can go on from. */
export interface NewestCheckpoint extends CheckpointNote {
  readonly file: string;
  readonly first: number;
  /** The newest day, `YYYY-MM-DD`, that there is a checkpoint for; empty where there is none. */
  readonly day: string;
  readonly kept: KeptCheckpoint | undefined;
}

export type NewestReading =
  | { readonly kind: "none" }
  | { readonly kind: "newest"; readonly newest: NewestCheckpoint }
  | { readonly kind: "damaged"; readonly problem: string };

/** What is written together: the note for its day, and with what it is kept. */
export interface CheckpointFiles {
  readonly note: SignedNote;
  readonly day: string;
  readonly stored: Omit<StoredCheckpoint, "note">;
}

/** One writer only, which the audit directory's lock sees to. */
export class CheckpointStore implements AsyncDisposable {
  readonly #directory: AbsPath;
  readonly #path: string;
  #folder: FileHandle | undefined;

  /** The folder is made when the first checkpoint is written. */
  constructor(directory: AbsPath) {
    this.#directory = directory;
    this.#path = join(directory, "checkpoints");
  }

  /**
   * The newest checkpoint: the kept one, or that of a day where it is of a later tree or a larger one. A file that is no checkpoint is
   * damage: none of them is ever half written.
   */
  async newest(): Promise<NewestReading> {
    const damaged = (name: string, problem: string): NewestReading => ({
      kind: "damaged",
      problem: `${quoteText(join(this.#path, name))} is no checkpoint: ${problem}`,
    });
    const whole = await this.#read(NEWEST_FILE);
    const stored = whole === undefined ? undefined : readStoredCheckpoint(whole);
    if (stored?.kind === "invalid") return damaged(NEWEST_FILE, stored.problem);
    const day = await this.#newestDay();
    const bytes = day === undefined ? undefined : await this.#read(day.name);
    const ofDay = bytes === undefined ? undefined : readCheckpointNote(bytes);
    if (day !== undefined && ofDay?.kind === "invalid") return damaged(day.name, ofDay.problem);
    if (day !== undefined && ofDay?.kind === "ok" && isLater(day.first, ofDay.value, stored?.value)) {
      return { kind: "newest", newest: { ...ofDay.value, file: day.name, ...day, kept: undefined } };
    }
    if (stored === undefined) return { kind: "none" };
    const { note, checkpoint, first } = stored.value;
    const kept = stored.value;
    return { kind: "newest", newest: { note, checkpoint, file: NEWEST_FILE, first, day: day?.day ?? "", kept } };
  }

  /** Makes a checkpoint durable. Signatures that others put under the same text are kept. */
  async write({ note, day, stored }: CheckpointFiles): Promise<void> {
    const text = writeSignedNote(note);
    this.#folder ??= await this.#makeFolder();
    await this.#replace(NEWEST_FILE, canonicalJson({ ...stored, note: text }));
    const name = dayCheckpointFile(day, stored.first);
    await this.#replace(name, await this.#withForeignSignatures(name, note));
    await this.#folder.sync();
  }

  async #makeFolder(): Promise<FileHandle> {
    await mkdir(this.#path, { recursive: true, mode: PRIVATE_FOLDER });
    await using above = await open(this.#directory, READ_FOLDER);
    await above.sync();
    return await open(this.#path, READ_FOLDER);
  }

  /** Adds public keys to those that are listed, if they aren't there. */
  async listKeys(keys: readonly string[]): Promise<void> {
    const listed = ((await this.#read(KEYS_FILE))?.toString("utf8") ?? "").split("\n").filter((line) => line !== "");
    const missing = keys.filter((key) => !listed.includes(key));
    if (missing.length === 0) return;
    this.#folder ??= await this.#makeFolder();
    await this.#replace(KEYS_FILE, [...listed, ...missing].map((line) => `${line}\n`).join(""));
    await this.#folder.sync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder?.close();
    this.#folder = undefined;
  }

  async #withForeignSignatures(name: string, note: SignedNote): Promise<string> {
    const bytes = await this.#read(name);
    const before = bytes === undefined ? undefined : readSignedNote(bytes);
    if (before?.kind !== "ok" || before.note.text !== note.text) return writeSignedNote(note);
    const own = new Set(note.signatures.map(({ base64 }) => base64));
    const foreign = before.note.signatures.filter(({ base64 }) => !own.has(base64));
    return writeSignedNote({ text: note.text, signatures: [...note.signatures, ...foreign] });
  }

  async #newestDay(): Promise<{ readonly name: string; readonly first: number; readonly day: string } | undefined> {
    if (lstatSync(this.#path, { throwIfNoEntry: false }) === undefined) return undefined;
    const names = (await readdir(this.#path)).flatMap((name) => {
      const read = readDayCheckpointFile(name);
      return read === undefined ? [] : [{ name, ...read }];
    });
    names.sort((a, b) => a.first - b.first || (a.day < b.day ? -1 : 1));
    return names.at(-1);
  }

  /** A file of the folder; undefined where there is none. */
  async #read(name: string): Promise<Buffer | undefined> {
    const path = join(this.#path, name);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    await using file = await open(path, READ);
    const found = await file.stat();
    if (!found.isFile() || found.size > MAX_FILE_BYTES)
      throw new Error(`${quoteText(path)} is no file of at most ${MAX_FILE_BYTES} bytes`);
    return await file.readFile();
  }

  async #replace(name: string, content: string): Promise<void> {
    const temporary = join(this.#path, `.${name}.new`);
    await using file = await open(temporary, WRITE_NEW, PRIVATE_FILE);
    await file.writeFile(content);
    await file.sync();
    await rename(temporary, join(this.#path, name));
  }
}

/** Whether the checkpoint of a day is newer than the one that is kept. */
function isLater(first: number, { checkpoint }: CheckpointNote, kept: KeptCheckpoint | undefined): boolean {
  if (kept === undefined || first !== kept.first) return first > (kept?.first ?? 0);
  return checkpoint.size > kept.checkpoint.size;
}
