/** Whether a box holds what was decided about: between brokerd's last look and the mount, a path may have been given another meaning. */
import { lstatSync } from "node:fs";

/** The first root that isn't what `sources` says it is on the host, as `device:inode` in the order of the roots; undefined where all are. */
export function findSwapped(roots: readonly string[], sources: readonly string[] | null): string | undefined {
  return sources === null ? undefined : roots.find((root, index) => identityOf(root) !== sources[index]);
}

/** What is at a path, as `device:inode`; undefined where nothing can be found. */
export function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    // Gone, or not to be looked at: not what was decided about.
    return undefined;
  }
}
