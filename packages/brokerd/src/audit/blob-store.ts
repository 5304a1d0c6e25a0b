/** Texts that records name by hash (long arguments, grant files), each in a file of that name, so that they can be pruned without touching the chain. */
import { constants, lstatSync } from "node:fs";
import { type FileHandle, mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Hash32 } from "@boxmaker/proto";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const WRITE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const READ_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** `blobs`: long strings of records. `grants`: the grant files in force. */
export type BlobFolder = "blobs" | "grants";

/** One folder of an audit directory. One writer only, which the directory's lock sees to. */
export class BlobStore implements AsyncDisposable {
  readonly #path: string;
  readonly #folder: FileHandle;
  #failure: unknown;
  #hasFailed = false;
  /** The last store that was asked for. One at a time: two of the same blob would take each other's temporary file away. */
  #last: Promise<void> = Promise.resolve();

  private constructor(path: string, folder: FileHandle) {
    this.#path = path;
    this.#folder = folder;
  }

  /**
   * Opens the folder, making it where it is missing. The folder, and what an earlier run put there and didn't live to sync, are durable
   * afterwards.
   */
  static async open(directory: string, name: BlobFolder): Promise<BlobStore> {
    const path = join(directory, name);
    await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER });
    await using above = await open(directory, READ_FOLDER);
    await above.sync();
    const folder = await open(path, READ_FOLDER);
    await folder.sync();
    return new BlobStore(path, folder);
  }

  /**
   * Makes every blob durable. One that is there already, in its right size, is left alone.
   *
   * @throws {Error} when one can't be, and from then on always: what lies there after a failed sync may never reach the disk
   */
  store(blobs: ReadonlyMap<Hash32, string>): Promise<void> {
    const stored = this.#last.then(async () => await this.#storeOrFail(blobs));
    // Who asked for it is told; the next in line is told by what it left.
    this.#last = stored.catch(() => undefined);
    return stored;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#folder.close();
  }

  async #storeOrFail(blobs: ReadonlyMap<Hash32, string>): Promise<void> {
    if (this.#hasFailed) throw this.#failure;
    try {
      await this.#store(blobs);
    } catch (error) {
      this.#failure = error;
      this.#hasFailed = true;
      throw error;
    }
  }

  async #store(blobs: ReadonlyMap<Hash32, string>): Promise<void> {
    let isNew = false;
    for (const [hash, text] of blobs) {
      const bytes = Buffer.from(text);
      if (this.#holds(hash, bytes.length)) continue;
      await this.#write(hash, bytes);
      isNew = true;
    }
    if (isNew) await this.#folder.sync();
  }

  #holds(hash: Hash32, bytes: number): boolean {
    const found = lstatSync(join(this.#path, hash), { throwIfNoEntry: false });
    return found?.isFile() === true && found.size === bytes;
  }

  /** A blob appears under its name only when it is whole: a crash leaves the temporary name, which the next write takes over. */
  async #write(hash: Hash32, bytes: Uint8Array): Promise<void> {
    const temporary = join(this.#path, `.${hash}.new`);
    await using file = await open(temporary, WRITE_NEW, PRIVATE_FILE);
    await file.writeFile(bytes);
    await file.sync();
    await rename(temporary, join(this.#path, hash));
  }
}
