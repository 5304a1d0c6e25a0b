/** Makes a home, and never overwrites what the owner may have changed in one. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Layout } from "./layout.ts";
import { sampleFiles } from "./sample-files.ts";

async function writeNew(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Makes the directories, sample notes and sample grants that aren't there yet. Grants and notes are written only into a home that has
 * no grants directory, so that a grant which the owner deleted doesn't come back.
 *
 * @returns whether the home was new
 * @throws {Error} when something can't be written
 */
export async function makeHome(layout: Layout): Promise<boolean> {
  await mkdir(layout.home, { recursive: true, mode: 0o700 });
  const isNew = (await mkdir(layout.grants, { recursive: true, mode: 0o700 })) !== undefined;
  if (isNew) for (const { path, text } of sampleFiles(layout)) await writeNew(join(layout.home, path), text);
  await mkdir(join(layout.home, "sessions"), { recursive: true, mode: 0o700 });
  await mkdir(join(layout.home, "memory"), { recursive: true, mode: 0o700 });
  return isNew;
}
