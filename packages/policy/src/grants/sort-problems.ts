/** The order of problems in a report. */
import { escapeText, type GrantProblem } from "@boxmaker/proto";

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareProblems(a: GrantProblem, b: GrantProblem): number {
  return compareText(a.file, b.file) || a.line - b.line || compareText(a.problem, b.problem);
}

/** Sorted by file, line and text, each once, on one printable line. */
export function sortProblems(problems: readonly GrantProblem[]): readonly GrantProblem[] {
  const printable = problems.map(({ file, line, problem }) => ({ file, line, problem: escapeText(problem) }));
  return printable.sort(compareProblems).filter((problem, index) => {
    const before = printable[index - 1];
    return before === undefined || compareProblems(before, problem) !== 0;
  });
}
