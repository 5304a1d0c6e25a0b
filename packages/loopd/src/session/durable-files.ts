/** Files that are there whole or not at all, whatever happens to the machine meanwhile. */
import { open, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { UNFINISHED_PREFIX } from "@boxmaker/edge/session-files";

/** Writes a new file whose folder isn't in use yet. */
export async function writeSynced(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: "wx", flush: true });
}

/** Makes durable which files a folder has. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Writes a file of a folder that is in use: under another name first, so that none reads half of it. Durable when it returns. */
export async function placeSynced(path: string, text: string): Promise<void> {
  const unfinished = join(dirname(path), `${UNFINISHED_PREFIX}${basename(path)}`);
  await writeFile(unfinished, text, { flush: true });
  await rename(unfinished, path);
  await syncFolder(dirname(path));
}
