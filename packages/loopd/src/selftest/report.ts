/** What a self-test found. */

/** Every text is one printable line; those of `mismatches` and `warnings` end with a runbook pointer. */
export interface SelftestReport {
  /** What the server is. */
  readonly lines: readonly string[];
  /** Where it isn't what `[expect]` says: loopd doesn't serve with it. */
  readonly mismatches: readonly string[];
  /** What will make sessions slower, or fail, and what couldn't be looked at. */
  readonly warnings: readonly string[];
}

/** A report of lines alone, or with more. */
export function report(lines: readonly string[], more: Partial<SelftestReport> = {}): SelftestReport {
  return { lines, mismatches: more.mismatches ?? [], warnings: more.warnings ?? [] };
}

/** One report of several, in their order. */
export function joinReports(reports: readonly SelftestReport[]): SelftestReport {
  return {
    lines: reports.flatMap(({ lines }) => lines),
    mismatches: reports.flatMap(({ mismatches }) => mismatches),
    warnings: reports.flatMap(({ warnings }) => warnings),
  };
}

/** The line of a mismatch. `pointer` is one of those below. */
export function mismatch(what: string, expected: string | number, got: string | number, pointer: string): string {
  return `${what}: expected ${expected}, got ${got}; ${pointer}`;
}

/** What the owner expects, and isn't so. */
export const EXPECTED = "see docs/runbook.md#selftest-failed";
/** How the server should be run. */
export const SETTINGS = "see docs/runbook.md#model-server-settings";
/** A slot that isn't there. */
export const SLOTS = "see docs/runbook.md#slot-missing";
