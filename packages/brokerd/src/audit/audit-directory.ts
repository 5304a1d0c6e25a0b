/** The audit directory itself: made where it is missing, private in any case. */
import { constants, fchmodSync, fstatSync, lstatSync } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";

const PRIVATE = 0o700;
const PERMISSIONS = 0o777;

/** Makes the directory and its missing parents, durably. Does nothing where something of that name exists. */
export async function makeDirectory(directory: string): Promise<void> {
  if (lstatSync(directory, { throwIfNoEntry: false }) !== undefined) return;
  const first = await mkdir(directory, { recursive: true, mode: PRIVATE });
  if (first === undefined) return;
  for (let made = directory; made.length >= first.length; made = dirname(made)) {
    await using parent = await open(dirname(made), constants.O_RDONLY | constants.O_DIRECTORY);
    await parent.sync();
  }
}

/** Takes everybody else's permissions away; returns whether anybody had any. */
export function makePrivate(descriptor: number): boolean {
  if ((fstatSync(descriptor).mode & PERMISSIONS) === PRIVATE) return false;
  fchmodSync(descriptor, PRIVATE);
  return true;
}
