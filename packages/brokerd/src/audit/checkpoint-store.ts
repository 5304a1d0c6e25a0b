/** The folder `audit/checkpoints/`: the newest checkpoint, one for each day, and the public keys. Every file appears whole or not at all. */
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { readCheckpointFile, readListedKeys } from "@boxmaker/edge/audit-files";
import { type AbsPath, canonicalJson } from "@boxmaker/proto";
import {
  dayCheckpointFile,
  KEYS_FILE,
  NEWEST_FILE,
  readSignedNote,
  type SignedNote,
  type StoredCheckpoint,
  writeSignedNote,
} from "@boxmaker/proto/transparency";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const READ_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const WRITE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
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
    const listed = await readListedKeys(this.#directory);
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
    const bytes = await readCheckpointFile(this.#directory, name);
    const before = bytes === undefined ? undefined : readSignedNote(bytes);
    if (before?.kind !== "ok" || before.note.text !== note.text) return writeSignedNote(note);
    // Under a key's name and id there is one signature; another one would spoil the note for who has the key.
    const own = new Set(note.signatures.map(({ name: key, keyId }) => `${key}+${keyId}`));
    const foreign = before.note.signatures.filter(({ name: key, keyId }) => !own.has(`${key}+${keyId}`));
    return writeSignedNote({ text: note.text, signatures: [...note.signatures, ...foreign] });
  }

  async #replace(name: string, content: string): Promise<void> {
    const temporary = join(this.#path, `.${name}.new`);
    await using file = await open(temporary, WRITE_NEW, PRIVATE_FILE);
    await file.writeFile(content);
    await file.sync();
    await rename(temporary, join(this.#path, name));
  }
}
