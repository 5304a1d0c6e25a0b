/** Makes a home, and never overwrites what the owner may have changed in one. */
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { quoteText } from "@boxmaker/proto";
import type { Layout } from "./layout.ts";
import { sampleFiles } from "./sample-files.ts";

/** What is there now; or one line, without a pointer, that says why there is no home. */
export type HomeMaking =
  | { readonly kind: "made"; readonly isNew: boolean }
  | { readonly kind: "refused"; readonly problem: string };

/** What a home may hold before it has its grants. */
const OF_A_HOME: ReadonlySet<string> = new Set([
  "notes",
  "etc",
  "audit",
  "memory",
  "sessions",
  "run",
  "broker",
  "gateway",
  "roles.log",
]);

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/**
 * Makes a directory and what is missing above it. Node's own `recursive` never comes to an end where a file system holds no new
 * directories and calls that ENOENT, as /proc does.
 *
 * @returns whether it wasn't there
 */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST") && (await stat(path)).isDirectory()) return false;
    const parent = dirname(path);
    if (!hasCode(error, "ENOENT") || parent === path || !(await makeDirectory(parent))) throw error;
    await mkdir(path, { mode: 0o700 });
    return true;
  }
}

async function writeNew(path: string, text: string): Promise<void> {
  await makeDirectory(dirname(path));
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    // What is there is the owner's.
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

/**
 * Makes the directories, sample notes and sample grants that aren't there yet. Grants and notes are written only into a home that has
 * no grants directory, so that a grant which the owner deleted doesn't come back; and nothing into a folder of other things.
 */
export async function makeHome(layout: Layout): Promise<HomeMaking> {
  const { home, grants } = layout;
  try {
    await makeDirectory(home);
    const foreign = (await readdir(home)).find((name) => !OF_A_HOME.has(name));
    const hasGrants = await stat(grants).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (foreign !== undefined && !hasGrants) {
      const problem = `can't use ${quoteText(home)} as home: it holds ${quoteText(foreign)}, expected a new or empty folder, or a home`;
      return { kind: "refused", problem };
    }
    const isNew = await makeDirectory(grants);
    if (isNew) for (const { path, text } of sampleFiles(layout)) await writeNew(join(home, path), text);
    await makeDirectory(join(home, "sessions"));
    await makeDirectory(join(home, "memory"));
    return { kind: "made", isNew };
  } catch (error) {
    // Whatever was made is empty or a sample; without the rest nothing is started.
    const why = error instanceof Error ? error.message : "an unknown error";
    return {
      kind: "refused",
      problem: `can't make ${quoteText(home)} a home: ${quoteText(why)}, expected a folder that you can write`,
    };
  }
}
