/** The file that records are being appended to, with the suspicion that somebody else may have touched it. */
import { closeSync, constants, fdatasync, fdatasyncSync, fstatSync, lstatSync, openSync, type Stats, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DayFileName, quoteText } from "@boxmaker/proto";

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;
const PRIVATE_MODE = 0o600;

const syncData = promisify(fdatasync);

/** The file on disk is no longer the one we write: the message says how. */
class ForeignChangeError extends Error {
  override readonly name = "ForeignChangeError";
}

/** An open day file of known size. All errors are those of the file system, or say that the file is no longer ours. */
export class DayFile implements Disposable {
  readonly name: DayFileName;
  readonly #path: string;
  readonly #descriptor: number;
  readonly #identity: Stats;
  #bytes: number;
  #open = true;

  private constructor(path: string, name: DayFileName, descriptor: number, bytes: number) {
    this.name = name;
    this.#path = path;
    this.#descriptor = descriptor;
    this.#identity = fstatSync(descriptor);
    this.#bytes = bytes;
  }

  /** Opens a file that was just read; `bytes` is its size then. One that isn't ours any more, or not ours alone, is an error. */
  static openRead(directory: string, name: DayFileName, bytes: number): DayFile {
    const path = join(directory, name);
    const file = new DayFile(path, name, openSync(path, APPEND), bytes);
    try {
      file.#checkOurs();
    } catch (error) {
      // Nobody else has this descriptor to close.
      file[Symbol.dispose]();
      throw error;
    }
    return file;
  }

  /** Makes a new file; one that exists already isn't ours. The directory has to be synced before the file counts. */
  static create(directory: string, name: DayFileName): DayFile {
    const path = join(directory, name);
    return new DayFile(path, name, openSync(path, APPEND | constants.O_CREAT | constants.O_EXCL, PRIVATE_MODE), 0);
  }

  /** The size of the file, with what was appended. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Appends all of `bytes`; they count after {@link sync}. Checks first that nobody has deleted, replaced or written the file: a chain
   * continued elsewhere, or after foreign bytes, is lost.
   */
  append(bytes: Uint8Array): void {
    this.#checkOurs();
    let written = 0;
    while (written < bytes.length) {
      const count = writeSync(this.#descriptor, bytes, written, bytes.length - written);
      if (count === 0) throw new Error("write wrote nothing");
      written += count;
    }
    this.#bytes += bytes.length;
  }

  sync(): Promise<void> {
    return syncData(this.#descriptor);
  }

  /** As {@link DayFile.sync}; nothing else is done meanwhile. */
  syncInPlace(): void {
    fdatasyncSync(this.#descriptor);
  }

  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#descriptor);
  }

  #checkOurs(): void {
    const named = lstatSync(this.#path, { throwIfNoEntry: false });
    // While we hold it open its number is nobody else's, so that what its name says of it is what the descriptor would say.
    if (named === undefined || named.ino !== this.#identity.ino || named.dev !== this.#identity.dev) {
      const isGone = fstatSync(this.#descriptor).nlink === 0;
      throw new ForeignChangeError(`${quoteText(this.name)} was ${isGone ? "deleted" : "moved or replaced"}`);
    }
    if (named.nlink !== 1) throw new ForeignChangeError(`${quoteText(this.name)} has ${named.nlink} names, expected this one only`);
    if (named.size !== this.#bytes) {
      throw new ForeignChangeError(
        `${quoteText(this.name)} has ${named.size} bytes, expected ${this.#bytes}: somebody else wrote to it`,
      );
    }
  }
}
