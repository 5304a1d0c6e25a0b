/** Puts a new grant file into the grants directory: whole or not at all, and never in the place of another. */
import { constants } from "node:fs";
import { link, open, unlink } from "node:fs/promises";
import { join } from "node:path";

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const PRIVATE_FILE = 0o600;

/** `code` is the system's, as `EEXIST`: nothing was written then. */
export type Written = { readonly kind: "written"; readonly path: string } | { readonly kind: "failed"; readonly code: string };

/** Writes `directory/file`, durably. brokerd doesn't see it before it is whole: until then its name counts for nothing. */
export async function writeGrant(directory: string, file: string, text: string): Promise<Written> {
  const path = join(directory, file);
  const unfinished = join(directory, `.${file}.new`);
  try {
    await using begun = await open(unfinished, NEW_FILE, PRIVATE_FILE);
    try {
      await begun.writeFile(text);
      await begun.sync();
      // Unlike a rename, a link is refused where the name is taken.
      await link(unfinished, path);
    } finally {
      await unlink(unfinished);
    }
    await using folder = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    await folder.sync();
    return { kind: "written", path };
  } catch (error) {
    // The owner is told; whatever is there now is what brokerd goes by.
    return { kind: "failed", code: error instanceof Error && "code" in error ? String(error.code) : "unknown error" };
  }
}
