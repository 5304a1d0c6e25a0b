/** read_file: a regular UTF-8 file below a granted root, as text. */
import { constants, readSync } from "node:fs";
import { decodeUtf8 } from "@boxmaker/proto";
import { Descriptor } from "./descriptor.ts";
import { openBeneath } from "./open-beneath.ts";
import { describeError } from "./system-error.ts";
import { fail, succeed, type ToolResult } from "./tool-result.ts";

/** The largest file that is read, in bytes (1 MiB). */
export const MAX_READ = 1024 * 1024;

const TOOL = "read_file";

/** Reads the file at `path`, of at most `cap` and at most {@link MAX_READ} bytes. */
export function readFile(path: string, roots: readonly string[], cap: number): ToolResult {
  using owned = new DisposableStack();
  const place = openBeneath(roots, path, owned);
  if (place.kind === "refused") return fail(TOOL, path, place.problem);
  if (place.kind === "absent") return fail(TOOL, path, "no such file");
  if (place.stats.isDirectory()) return fail(TOOL, path, "is a directory");
  // Before it is opened: opening a FIFO blocks, and opening a device may do things.
  if (!place.stats.isFile()) return fail(TOOL, path, "not a regular file");
  const limit = Math.min(cap, MAX_READ);
  let bytes: Buffer | undefined;
  try {
    using file = new Descriptor(place.file.self, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    bytes = readBounded(file, limit);
  } catch (error) {
    return fail(TOOL, path, describeError(error));
  }
  if (bytes === undefined) return fail(TOOL, path, `larger than ${limit} bytes`);
  const text = decodeUtf8(bytes);
  return text === undefined ? fail(TOOL, path, "not UTF-8 text") : succeed(text);
}

/** The whole file, or undefined when it has more than `limit` bytes, whatever its size was said to be. */
function readBounded(file: Descriptor, limit: number): Buffer | undefined {
  if (file.stat().size > limit) return undefined;
  const buffer = Buffer.allocUnsafe(limit + 1);
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(file.number, buffer, length, buffer.length - length, null);
    if (count === 0) return buffer.subarray(0, length);
    length += count;
  }
  return undefined;
}
