/** Runs the rules that no linter has: `node tools/house-rules.ts [ROOT]`. */
import { checkDependencyDocs } from "./rules/dependency-docs.ts";
import { formatFault, type Rule } from "./rules/fault.ts";
import { checkFileHeader } from "./rules/file-header.ts";
import { checkFileSize } from "./rules/file-size.ts";
import { checkForbiddenCalls } from "./rules/forbidden-calls.ts";
import { checkRunbookPointers } from "./rules/runbook-pointers.ts";
import { checkSuppressions } from "./rules/suppressions.ts";

const RULES: readonly (readonly [name: string, rule: Rule])[] = [
  ["file size", checkFileSize],
  ["file header", checkFileHeader],
  ["forbidden calls", checkForbiddenCalls],
  ["suppressions", checkSuppressions],
  ["dependency docs", checkDependencyDocs],
  ["runbook pointers", checkRunbookPointers],
];

const root = process.argv[2] ?? process.cwd();
for (const [name, rule] of RULES) {
  const { checked, faults } = rule(root);
  if (checked === 0) {
    process.exitCode = 1;
    process.stdout.write(`${name}: found nothing to check under ${root}: run it from the repository's root\n`);
  }
  for (const fault of faults) {
    process.exitCode = 1;
    process.stdout.write(`${formatFault(fault)}\n`);
  }
}
