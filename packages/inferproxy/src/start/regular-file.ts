/** Reads a file that the owner named, whatever is at its place: a pipe or a device would keep the start waiting for ever. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** A file's text and permission bits, or what it is not. */
export type FileReading =
  | { readonly kind: "read"; readonly text: string; readonly mode: number }
  | { readonly kind: "other"; readonly why: string };

/**
 * Reads a regular file of at most `maxBytes` bytes.
 *
 * @throws the system's error when it can't be opened or read
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<FileReading> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = await file.stat();
  if (!stat.isFile() || stat.size > maxBytes) {
    return { kind: "other", why: `is not a file of at most ${maxBytes} bytes` };
  }
  return { kind: "read", text: await file.readFile("latin1"), mode: stat.mode };
}
