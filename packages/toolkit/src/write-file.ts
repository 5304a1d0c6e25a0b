/** write_file: replaces a regular file below a granted root, or makes one in a folder that exists. */
import { accessSync, chmodSync, chownSync, constants, fsyncSync, ftruncateSync, renameSync, type Stats, unlinkSync } from "node:fs";
import { Descriptor } from "./descriptor.ts";
import { writeAll } from "./frame-out.ts";
import { openBeneath, type Place } from "./open-beneath.ts";
import { describeError, errorCode } from "./system-error.ts";
import { fail, succeed, type ToolResult } from "./tool-result.ts";

const TOOL = "write_file";

/** Permission bits that a new file keeps; set-id and sticky bits aren't among them. */
const MODE_BITS = 0o777;
const NEW_FILE_MODE = 0o666;

/** O_SYNC, not fsync: every write is on disk when it returns. Node's permission model, which one runtime uses, has no fsync. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_SYNC;
const OLD_FILE = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_SYNC;

/**
 * Writes `content` to `path`. What was there is replaced whole or left as it was; a granted file, which is written in place, is so
 * unless the machine or the box ends in the middle.
 */
export function writeFile(path: string, content: string, roots: readonly string[]): ToolResult {
  using owned = new DisposableStack();
  const place = openBeneath(roots, path, owned);
  const bytes = Buffer.from(content);
  try {
    const problem = put(place, bytes);
    return problem === undefined ? succeed(`wrote ${bytes.length} bytes to ${path}`) : fail(TOOL, path, problem);
  } catch (error) {
    return fail(TOOL, path, describeError(error));
  }
}

/** Puts the bytes there, or says why not. */
function put(place: Place, bytes: Buffer): string | undefined {
  if (place.kind === "refused") return place.problem;
  if (place.kind === "absent") return replace(place.parent, place.name, undefined, bytes);
  if (place.stats.isDirectory()) return "is a directory";
  if (!place.stats.isFile()) return "not a regular file";
  // Replacing needs no permission on the file itself: without this, a read-only file would be no protection.
  accessSync(place.file.self, constants.W_OK);
  return place.parent === undefined
    ? overwrite(place.file, place.stats, bytes)
    : replace(place.parent, place.name, place.stats, bytes);
}

/**
 * A temporary file in the same folder, renamed over the old one: readers see the old text or the new, and a hard link to the old
 * one elsewhere keeps its content.
 */
function replace(parent: Descriptor, name: string, old: Stats | undefined, bytes: Buffer): string | undefined {
  const temporary = parent.entry(`.boxmaker-${crypto.randomUUID()}.tmp`);
  const mode = old === undefined ? NEW_FILE_MODE : old.mode & MODE_BITS;
  using file = new Descriptor(temporary, NEW_FILE, mode);
  try {
    const problem = old === undefined ? undefined : keepOwnerAndMode(file, old, mode);
    if (problem !== undefined) {
      unlinkSync(temporary);
      return problem;
    }
    writeAll(file.number, bytes);
    renameSync(temporary, parent.entry(name));
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
  syncFolder(parent);
  return undefined;
}

function keepOwnerAndMode(file: Descriptor, old: Stats, mode: number): string | undefined {
  const made = file.stat();
  if (made.uid !== old.uid || made.gid !== old.gid) {
    try {
      chownSync(file.self, old.uid, old.gid);
    } catch {
      // Refusing is the safe side: the file stays as it is.
      return "belongs to another user or group, which replacing it would change";
    }
  }
  if ((made.mode & MODE_BITS) !== mode) chmodSync(file.self, mode);
  return undefined;
}

/** Makes the new name durable too, where that is allowed: a folder may be written but not listed. */
function syncFolder(parent: Descriptor): void {
  try {
    using folder = new Descriptor(parent.self, constants.O_RDONLY | constants.O_DIRECTORY);
    fsyncSync(folder.number);
  } catch (error) {
    const code = errorCode(error);
    // The text is on disk and in place; after a crash of the machine the old one may be there instead, whole.
    if (code !== "EACCES" && code !== "ERR_ACCESS_DENIED") throw error;
  }
}

/**
 * A granted file is a mount of its own, which can't be renamed over: it's written in place, unless another name shares it. What makes it
 * longer comes first, since only that needs room: where there is none, the file is cut back to what it was.
 */
function overwrite(handle: Descriptor, old: Stats, bytes: Buffer): string | undefined {
  if (old.nlink > 1) return "has other hard links, which would change with it";
  using file = new Descriptor(handle.self, OLD_FILE);
  const { size } = file.stat();
  if (bytes.length > size) {
    try {
      writeAll(file.number, bytes.subarray(size), size);
    } catch (error) {
      ftruncateSync(file.number, size);
      throw error;
    }
  }
  writeAll(file.number, bytes.subarray(0, size), 0);
  ftruncateSync(file.number, bytes.length);
  return undefined;
}
