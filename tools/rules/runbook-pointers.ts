/** A refusal that points into the runbook must point at something, and the runbook explains nothing that can't happen. */
import { type Fault, lineAt, type RuleReport } from "./fault.ts";
import { readSources, SHIPPED_TYPESCRIPT } from "./source-files.ts";

const RUNBOOK = "docs/runbook.md";
const LAUNCHER = "tools/launcher/*.cjs";
/** The type `docs/runbook.md#${string}` is no pointer. */
const POINTER = /runbook\.md#(?!\$\{string\})(?<anchor>[a-z0-9-]*)/gu;
const HEADING = /^## (?<anchor>.+)$/gmu;
const ANCHOR = /^[a-z0-9]+(-[a-z0-9]+)*$/u;

interface Place {
  readonly anchor: string;
  readonly file: string;
  readonly line: number;
}

function findAll(pattern: RegExp, file: string, text: string): readonly Place[] {
  return [...text.matchAll(pattern)].map((match) => ({
    anchor: match.groups?.["anchor"] ?? "",
    file,
    line: lineAt(text, match.index),
  }));
}

/** Each `docs/runbook.md#anchor` in what ships has a `## anchor` heading, each heading is pointed at, headings are unique and sorted. */
export function checkRunbookPointers(root: string): RuleReport {
  const pointers = readSources(root, [...SHIPPED_TYPESCRIPT, LAUNCHER]).flatMap(({ path, text }) => findAll(POINTER, path, text));
  const headings = findAll(HEADING, RUNBOOK, readSources(root, [RUNBOOK])[0]?.text ?? "");
  const faults: Fault[] = [];
  for (const { anchor, file, line } of pointers) {
    if (!ANCHOR.test(anchor)) {
      faults.push({ file, line, what: `points at "${anchor}": write the whole literal anchor, so that it can be searched for` });
    } else if (!headings.some((heading) => heading.anchor === anchor)) {
      faults.push({ file, line, what: `points at "#${anchor}", which ${RUNBOOK} doesn't have: add "## ${anchor}" there` });
    }
  }
  for (const [index, { anchor, line }] of headings.entries()) {
    const before = headings[index - 1]?.anchor ?? "";
    if (!ANCHOR.test(anchor)) {
      faults.push({ file: RUNBOOK, line, what: `the heading "${anchor}" is no anchor: use lower-case words joined by "-"` });
    } else if (!pointers.some((pointer) => pointer.anchor === anchor)) {
      faults.push({ file: RUNBOOK, line, what: `nothing points at "#${anchor}": remove it, or point at it where it is refused` });
    }
    if (before === anchor) faults.push({ file: RUNBOOK, line, what: `"## ${anchor}" is there twice: keep one` });
    else if (before > anchor)
      faults.push({ file: RUNBOOK, line, what: `"## ${anchor}" comes after "## ${before}": sort by anchor` });
  }
  return { checked: pointers.length, faults };
}
