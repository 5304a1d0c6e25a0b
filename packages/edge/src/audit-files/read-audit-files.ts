/** Reads an audit directory from disk, as it is at one moment; what is made of it is decided in proto, for every program alike. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryEntry, LogFile } from "@boxmaker/proto";

/** How much is read at a time. */
export const CHUNK_BYTES = 256 * 1024;

/**
 * The entries of a directory with their sizes, which make a snapshot: a file that brokerd goes on writing is read up to here, and
 * one that it begins afterwards isn't looked at.
 */
export async function readAuditEntries(directory: string): Promise<readonly DirectoryEntry[]> {
  const names = (await readdir(directory)).sort();
  const entries: DirectoryEntry[] = [];
  for (const name of names) {
    const found = await lstat(join(directory, name));
    const kind = found.isFile() ? "file" : found.isDirectory() ? "directory" : found.isSymbolicLink() ? "link" : "other";
    entries.push({ name, kind, bytes: found.size });
  }
  return entries;
}

const READ_FILE = constants.O_RDONLY | constants.O_NOFOLLOW;

/**
 * The bytes of a day file from `offset` on, up to its size `bytes`. The chunks share one buffer, so each is valid until the next is
 * asked for. Who reads many pieces gives the buffer: a new one for each would stay in memory until something else makes it collected.
 *
 * @throws {Error} when the file has become shorter
 */
export async function* readAuditFile(
  directory: string,
  { name, bytes }: LogFile,
  offset = 0,
  buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES),
): AsyncGenerator<Uint8Array, void, undefined> {
  await using file = await open(join(directory, name), READ_FILE);
  let position = offset;
  while (position < bytes) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(bytes - position, buffer.length), position);
    if (bytesRead === 0) throw new Error(`${name} became shorter while it was read`);
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * As {@link readAuditFile}, for a thread that has nothing else to do than to wait for each chunk: the way to another thread and back takes
 * as long as a chunk takes to be read.
 *
 * @throws {Error} when the file has become shorter
 */
export function* readAuditFileInPlace(
  directory: string,
  { name, bytes }: LogFile,
  offset: number,
  buffer: Buffer,
): Generator<Uint8Array, void, undefined> {
  const descriptor = openSync(join(directory, name), READ_FILE);
  try {
    let position = offset;
    while (position < bytes) {
      const bytesRead = readSync(descriptor, buffer, 0, Math.min(bytes - position, buffer.length), position);
      if (bytesRead === 0) throw new Error(`${name} became shorter while it was read`);
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    closeSync(descriptor);
  }
}
