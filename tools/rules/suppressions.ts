/** A rule that is switched off somewhere says why, and the number of such places only falls. */
import { type Fault, lineAt, type RuleReport } from "./fault.ts";
import { ALL_TYPESCRIPT, readSources } from "./source-files.ts";

const BUDGET = "tools/suppressions.txt";
// Written in two halves so that this file doesn't count itself.
const SUPPRESSION = new RegExp(
  [
    "biome-" + "ignore",
    "oxlint-" + "disable",
    "eslint-" + "disable",
    "knip-" + "ignore",
    "@ts-" + "ignore",
    "@ts-" + "nocheck",
    "@ts-" + "expect-error",
  ].join("|"),
  "gu",
);
const REASON = /(: | -- )(because|until) .{10,}$/u;

/** In `*.types.ts` an expected error is the assertion itself. */
const TYPE_TEST = /\.types\.ts$/u;

export function checkSuppressions(root: string): RuleReport {
  const files = readSources(root, ALL_TYPESCRIPT);
  const faults: Fault[] = [];
  let count = 0;
  for (const { path, text } of files) {
    if (TYPE_TEST.test(path)) continue;
    for (const match of text.matchAll(SUPPRESSION)) {
      count++;
      const [line = ""] = text.slice(match.index).split("\n", 1);
      if (!REASON.test(line.replace(/\s*\*\/\s*$/u, ""))) {
        faults.push({ file: path, line: lineAt(text, match.index), what: `${match[0]} without a reason: end it with "because …"` });
      }
    }
  }
  const budget = readSources(root, [BUDGET])[0]?.text.trim() ?? "";
  if (budget !== String(count)) {
    const todo = Number(budget) < count ? "remove one instead of adding one" : `write ${count} there`;
    faults.push({ file: BUDGET, line: 1, what: `allows ${budget || "nothing"}, found ${count} suppressions: ${todo}` });
  }
  return { checked: files.length, faults };
}
