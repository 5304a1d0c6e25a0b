/** Whether a box holds what was decided about: between brokerd's last look and the mount, a path may have been given another meaning. */
import { lstatSync } from "node:fs";
import type { BoxRun } from "@boxmaker/proto";
import { errorCode } from "./system-error.ts";

/** The first place of the box that isn't what it is to be, by the numbers that brokerd has seen; undefined where all are. */
export function findSwapped(mounts: BoxRun["body"]["mounts"]): string | undefined {
  return mounts?.find(isSwapped)?.path;
}

function isSwapped({ path, source, shown }: NonNullable<BoxRun["body"]["mounts"]>[number]): boolean {
  try {
    return (identityOf(path) === source) !== shown;
  } catch (error) {
    // Something is to be there in either case. What this program may not look at, no other in its box can reach.
    return errorCode(error) !== "EACCES";
  }
}

/**
 * What is at a path, as `device:inode`.
 *
 * @throws {Error} where nothing is, or nothing can be found
 */
export function identityOf(path: string): string {
  const { dev, ino } = lstatSync(path, { bigint: true });
  return `${dev}:${ino}`;
}
