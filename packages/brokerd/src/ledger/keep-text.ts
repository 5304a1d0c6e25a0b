/** Keeps a text under its hash, so that a record can name it: the grant files in force, by hash. */
import { mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type AbsPath, type Hash32, sha256 } from "@boxmaker/proto";

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function isKept(path: string, hash: Hash32): Promise<boolean> {
  try {
    return sha256(await readFile(path)) === hash;
  } catch {
    // Missing or unreadable: it is written again, and that fails loudly if it must.
    return false;
  }
}

/**
 * Makes sure that `directory/<hash>` holds `text`, durably: written aside, synced, renamed, directory synced. A file that is there
 * already and has the right content is left alone.
 *
 * @throws {Error} when the text can't be made durable
 */
export async function keepText(directory: AbsPath, hash: Hash32, text: string): Promise<void> {
  const path = join(directory, hash);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (await isKept(path, hash)) return;
  const aside = `${path}.new`;
  const handle = await open(aside, "w", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await rename(aside, path);
  } catch (error) {
    await unlink(aside).catch(() => undefined);
    throw error;
  }
  await syncDirectory(directory);
}
