/** What the grants are read through: the file system, narrowed to what can't hang on whatever lies in the directory. */
import { constants, lstatSync, readdirSync, realpathSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** What stands at a path. Whatever changes in a file, its content included, changes its stamp. */
export interface Stamp {
  readonly kind: "file" | "directory" | "link" | "other";
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly mode: bigint;
  readonly uid: bigint;
}

/** `code` is the system's, as `EACCES`. */
export interface Unreadable {
  readonly kind: "unreadable";
  readonly code: string;
}

export type Looked = Stamp | { readonly kind: "missing" } | Unreadable;

export type FileReading = { readonly kind: "bytes"; readonly bytes: Uint8Array } | { readonly kind: "changed" } | Unreadable;

/** The seam to the disk. None of it follows a link at the end of a path, except `realPath`. */
export interface GrantFiles {
  look(path: string): Looked;
  /** The names in a directory as they are, which may not be UTF-8. */
  list(directory: string): { readonly kind: "names"; readonly names: readonly Uint8Array[] } | Unreadable;
  /** Reads a regular file that had this stamp. Opening doesn't wait for a writer, should it have become a FIFO. */
  read(path: string, stamp: Stamp): Promise<FileReading>;
  /** The path without links, or `undefined` where nothing is there. */
  realPath(path: string): string | undefined;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}

/** Whether two looks saw the same thing in the same state. */
export function isSameStamp(a: Stamp, b: Stamp): boolean {
  return (
    a.ctimeNs === b.ctimeNs &&
    a.mtimeNs === b.mtimeNs &&
    a.size === b.size &&
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.mode === b.mode &&
    a.uid === b.uid
  );
}

interface StatLike {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly mode: bigint;
  readonly uid: bigint;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

function stampOf(stats: StatLike): Stamp {
  const { dev, ino, size, mtimeNs, ctimeNs, mode, uid } = stats;
  const kind = stats.isFile() ? "file" : stats.isDirectory() ? "directory" : stats.isSymbolicLink() ? "link" : "other";
  return { kind, dev, ino, size, mtimeNs, ctimeNs, mode, uid };
}

async function readOpened(handle: FileHandle, stamp: Stamp): Promise<FileReading> {
  if (!isSameStamp(stampOf(await handle.stat({ bigint: true })), stamp)) return { kind: "changed" };
  const bytes = Buffer.alloc(Number(stamp.size));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) return { kind: "changed" };
    length += bytesRead;
  }
  return { kind: "bytes", bytes };
}

/** The machine's own files. Looking is synchronous: for a thousand files that is a few milliseconds, five times less than by threads. */
export const realGrantFiles: GrantFiles = {
  look(path) {
    try {
      const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      return stats === undefined ? { kind: "missing" } : stampOf(stats);
    } catch (error) {
      // Whatever can't be looked at is a problem of the set, which denies.
      return { kind: "unreadable", code: codeOf(error) };
    }
  },
  list(directory) {
    try {
      return { kind: "names", names: readdirSync(directory, { encoding: "buffer" }) };
    } catch (error) {
      // As above: an unreadable directory isn't an empty one.
      return { kind: "unreadable", code: codeOf(error) };
    }
  },
  async read(path, stamp) {
    let handle: FileHandle;
    try {
      handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      // Gone or replaced since it was looked at, or never readable: the caller looks again and reports what stays.
      return { kind: "unreadable", code: codeOf(error) };
    }
    try {
      return await readOpened(handle, stamp);
    } catch (error) {
      return { kind: "unreadable", code: codeOf(error) };
    } finally {
      await handle.close();
    }
  },
  realPath(path) {
    try {
      return realpathSync(path);
    } catch {
      // Missing or unreadable: the caller asks for its parent.
      return undefined;
    }
  },
};
