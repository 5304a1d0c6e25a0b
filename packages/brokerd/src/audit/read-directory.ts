/** Reads an audit directory from disk; what is made of it is decided in proto, for every program alike. */
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryEntry, LogFile } from "@boxmaker/proto";

const CHUNK_BYTES = 256 * 1024;

/** The entries of a directory with their sizes. */
export async function readEntries(directory: string): Promise<readonly DirectoryEntry[]> {
  const entries: DirectoryEntry[] = [];
  for (const name of (await readdir(directory)).sort()) {
    const found = await lstat(join(directory, name));
    const kind = found.isFile() ? "file" : found.isDirectory() ? "directory" : found.isSymbolicLink() ? "link" : "other";
    entries.push({ name, kind, bytes: found.size });
  }
  return entries;
}

/**
 * The first `bytes` bytes of a day file; the chunks share one buffer.
 *
 * @throws {Error} when the file has become shorter
 */
export async function* readChunks(directory: string, { name, bytes }: LogFile): AsyncGenerator<Uint8Array, void, undefined> {
  await using file = await open(join(directory, name), constants.O_RDONLY | constants.O_NOFOLLOW);
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let left = bytes;
  while (left > 0) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(left, buffer.length), null);
    if (bytesRead === 0) throw new Error(`${name} became shorter while it was read`);
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
