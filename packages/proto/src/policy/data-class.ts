/** How confidential data is, and what a session has seen. */
import { z } from "zod";

/** The data classes from least to most confidential. */
export const DATA_CLASSES = ["public", "private", "secret"] as const;

/** `public < private < secret`. */
export const DataClass = z.enum(DATA_CLASSES);
export type DataClass = z.infer<typeof DataClass>;

/** Whether `a` is strictly more confidential than `b`. */
export function isAbove(a: DataClass, b: DataClass): boolean {
  return DATA_CLASSES.indexOf(a) > DATA_CLASSES.indexOf(b);
}

/** The more confidential of the two. */
export function joinClass(a: DataClass, b: DataClass): DataClass {
  return isAbove(a, b) ? a : b;
}

/**
 * What a session has seen, and what a call's results will add to it: the highest class, and whether a stranger's words were among
 * it. A session's state only rises.
 */
export const Label = z.strictObject({ taint: DataClass, untrusted: z.boolean() }).readonly();
export type Label = z.infer<typeof Label>;

/** The least label at or above both. */
export function joinLabel(a: Label, b: Label): Label {
  return Object.freeze({ taint: joinClass(a.taint, b.taint), untrusted: a.untrusted || b.untrusted });
}
