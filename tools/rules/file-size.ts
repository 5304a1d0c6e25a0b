/** A file is one idea: beyond 400 lines it is several. */
import type { RuleReport } from "./fault.ts";
import { ALL_TYPESCRIPT, readSources } from "./source-files.ts";

/** The most lines a TypeScript file may have. */
export const MAX_LINES = 400;

export function checkFileSize(root: string): RuleReport {
  const files = readSources(root, ALL_TYPESCRIPT);
  const faults = files.flatMap(({ path, text }) => {
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    return lines > MAX_LINES
      ? [{ file: path, line: MAX_LINES + 1, what: `has ${lines} lines, at most ${MAX_LINES} are allowed: split it by idea` }]
      : [];
  });
  return { checked: files.length, faults };
}
