/** The counts that a run of node:test ends with. */

const NAMES = ["tests", "suites", "passed", "failed", "cancelled", "skipped", "todo"] as const;

export type TestCounts = Readonly<Record<(typeof NAMES)[number], number>>;

/** Whether `value` has all the counts. */
export function isTestCounts(value: unknown): value is TestCounts {
  if (typeof value !== "object" || value === null) return false;
  return NAMES.every((name) => name in value && typeof value[name as keyof typeof value] === "number");
}
