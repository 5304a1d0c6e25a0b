/** Absolute paths in the one spelling that policy, mounts and tools all read the same way. */
import { z } from "zod";

const MAX_PATH_BYTES = 4096;
const CONTROL = /\p{Cc}/u;

function isAbsPath(text: string): boolean {
  if (!text.startsWith("/") || !text.isWellFormed() || CONTROL.test(text)) return false;
  if (Buffer.byteLength(text) > MAX_PATH_BYTES) return false;
  return text
    .slice(1)
    .split("/")
    .every((component) => component !== "" && component !== "." && component !== "..");
}

/**
 * An absolute path of 1..4096 bytes with no empty, `.` or `..` component, no trailing slash and no control character. `/` itself
 * isn't one: nothing is granted or mounted there.
 */
export const AbsPath = z
  .string()
  .refine(isAbsPath, "expected an absolute path without empty, '.' or '..' components, trailing slash or control characters")
  .brand<"AbsPath">();
export type AbsPath = z.infer<typeof AbsPath>;

/** Whether `child` is `parent` or lies below it, by component: `/srv/notes` doesn't hold `/srv/notes2`. */
export function holdsPath(parent: AbsPath, child: AbsPath): boolean {
  return child === parent || isProperParent(parent, child);
}

/** Whether `child` lies strictly below `parent`. */
export function isProperParent(parent: AbsPath, child: AbsPath): boolean {
  return child.startsWith(`${parent}/`);
}
