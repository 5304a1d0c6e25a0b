/** What every house rule reports. */

/** One broken rule at one place. `file` is relative to the root that was checked; `line` counts from 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  /** What is wrong, then what to do about it. */
  readonly what: string;
}

/** How many things a rule looked at (0 means that it looked at nothing, which is a failure) and what it found. */
export interface RuleReport {
  readonly checked: number;
  readonly faults: readonly Fault[];
}

/** A rule of the house: reads the tree under `root` and reports. */
export type Rule = (root: string) => RuleReport;

/** One line a person or an editor can follow: `file:line: what`. */
export function formatFault(fault: Fault): string {
  return `${fault.file}:${fault.line}: ${fault.what}`;
}

/** The line number, from 1, of the character at `offset`. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let index = text.indexOf("\n"); index !== -1 && index < offset; index = text.indexOf("\n", index + 1)) line++;
  return line;
}
