/** What holding a theorem against a set comes to. */
import type { Label } from "@boxmaker/proto";
import type { CallClass } from "./call-classes.ts";

/** A case in which a theorem fails: the call, and the state in which it is made. */
export interface Counterexample {
  readonly problem: string;
  readonly at: CallClass;
  readonly label: Label;
}

/** How many cases were looked at, and the first one that failed. */
export interface Checked {
  readonly checked: number;
  readonly failed: Counterexample | undefined;
}

/** Looks at cases until one fails. */
export function checkAll<T>(cases: Iterable<T>, check: (one: T) => Counterexample | undefined): Checked {
  let checked = 0;
  for (const one of cases) {
    checked++;
    const failed = check(one);
    if (failed !== undefined) return { checked, failed };
  }
  return { checked, failed: undefined };
}
