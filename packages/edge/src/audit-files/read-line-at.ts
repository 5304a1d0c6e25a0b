/** Single lines of a day file, for who wants to know where to begin to read. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { LogFile } from "@boxmaker/proto";
import { MAX_RECORD_BYTES } from "@boxmaker/proto/audit-lines";

const CHUNK_BYTES = 64 * 1024;
/** As long as most lines and longer. */
const SEEK_BYTES = 4 * 1024;
const NEWLINE = 0x0a;

/** A line without its newline, and where in the file it begins. */
export interface FileLine {
  readonly offset: number;
  readonly content: Uint8Array;
}

async function openFile(directory: string, { name }: LogFile): Promise<FileHandle> {
  return await open(join(directory, name), constants.O_RDONLY | constants.O_NOFOLLOW);
}

async function readSpan(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, start + done);
    if (bytesRead === 0) throw new Error("a day file became shorter while it was read");
    done += bytesRead;
  }
  return bytes;
}

/**
 * Where in a day file of `bytes` bytes the first line begins at or behind a place; `bytes` where none does. Undefined where so much lies
 * before it that it can't all be one record.
 */
export async function findLineStart(directory: string, day: LogFile, offset: number): Promise<number | undefined> {
  if (offset === 0) return 0;
  await using file = await openFile(directory, day);
  const limit = Math.min(day.bytes, offset + MAX_RECORD_BYTES + 1);
  for (let start = offset - 1; start < limit; start += SEEK_BYTES) {
    const end = (await readSpan(file, start, Math.min(SEEK_BYTES, limit - start))).indexOf(NEWLINE);
    if (end !== -1) return start + end + 1;
  }
  return limit < day.bytes ? undefined : day.bytes;
}

/** The first line of a day file; undefined where none ends in its first `bytes` bytes, or it is longer than a record. */
export async function readFirstLine(directory: string, day: LogFile): Promise<FileLine | undefined> {
  await using file = await openFile(directory, day);
  const limit = Math.min(day.bytes, MAX_RECORD_BYTES + 1);
  let read = Buffer.alloc(0);
  while (read.length < limit) {
    const chunk = await readSpan(file, read.length, Math.min(CHUNK_BYTES, limit - read.length));
    const end = chunk.indexOf(NEWLINE);
    if (end !== -1) return { offset: 0, content: Buffer.concat([read, chunk.subarray(0, end)]) };
    read = Buffer.concat([read, chunk]);
  }
  return undefined;
}

/** The last line of a day file of `bytes` bytes; undefined where it has no newline, or is longer than a record. */
export async function readLastLine(directory: string, day: LogFile): Promise<FileLine | undefined> {
  await using file = await openFile(directory, day);
  const limit = Math.max(0, day.bytes - MAX_RECORD_BYTES - 2);
  let read = Buffer.alloc(0);
  let start = day.bytes;
  while (start > limit) {
    const length = Math.min(CHUNK_BYTES, start - limit);
    start -= length;
    read = Buffer.concat([await readSpan(file, start, length), read]);
    if (read.at(-1) !== NEWLINE) return undefined;
    const before = read.subarray(0, -1).lastIndexOf(NEWLINE);
    if (before !== -1 || start === 0) return { offset: start + before + 1, content: read.subarray(before + 1, -1) };
  }
  return undefined;
}

/**
 * The line at a place of a day file, without its newline; undefined where the file of `bytes` bytes is shorter, or no line begins and
 * ends there.
 */
export async function readLineAt(directory: string, day: LogFile, offset: number, length: number): Promise<Uint8Array | undefined> {
  if (length > MAX_RECORD_BYTES || offset + length + 1 > day.bytes) return undefined;
  await using file = await openFile(directory, day);
  const start = Math.max(0, offset - 1);
  const read = await readSpan(file, start, offset + length + 1 - start);
  const content = read.subarray(offset - start, -1);
  const isLine = (offset === 0 || read[0] === NEWLINE) && read.at(-1) === NEWLINE && !content.includes(NEWLINE);
  return isLine ? content : undefined;
}
