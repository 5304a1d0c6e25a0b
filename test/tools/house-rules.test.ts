/** Each rule of the house reports a planted fault at its line, lets what is right through, and says when it looked at nothing. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { checkDependencyDocs } from "../../tools/rules/dependency-docs.ts";
import { formatFault, type Rule } from "../../tools/rules/fault.ts";
import { checkFileHeader } from "../../tools/rules/file-header.ts";
import { checkFileSize } from "../../tools/rules/file-size.ts";
import { checkForbiddenCalls } from "../../tools/rules/forbidden-calls.ts";
import { checkRunbookPointers } from "../../tools/rules/runbook-pointers.ts";
import { checkSuppressions } from "../../tools/rules/suppressions.ts";
import { makeFolder, REPOSITORY, type Seeds } from "../architecture/seeded-tree.ts";

/** What a rule says about a tree of exactly these files. */
function faultsOf(rule: Rule, files: Seeds): readonly string[] {
  using folder = makeFolder(files);
  return rule(folder.root).faults.map(formatFault);
}

const MANIFEST = '{\n  "dependencies": {\n    "zod": "4.6.7",\n    "@boxmaker/proto": "0.1.0"\n  }\n}';
const ROW = "| `zod` | proto | shapes | small | computes |";
/** Spelled in halves, so that this file has no suppression. */
const IGNORE = "biome-" + "ignore";

test("checkFileSize() reports a file of 401 lines and lets one of 400 pass", () => {
  assert.deepEqual(faultsOf(checkFileSize, { "packages/a/src/long.ts": Array(401).fill("//").join("\n") }), [
    "packages/a/src/long.ts:401: has 401 lines, at most 400 are allowed: split it by idea",
  ]);
  assert.deepEqual(faultsOf(checkFileSize, { "tools/long.ts": Array(400).fill("//").join("\n") }), []);
});

test("checkFileHeader() reports a file that begins without a comment, unless it is an index", () => {
  const files = {
    "packages/a/src/index.ts": 'export { one } from "./one.ts";',
    "packages/a/src/main.ts": "#!/usr/bin/env node\n/** Starts. */",
    "packages/a/src/one.ts": "export const one = 1;",
    "tools/two.ts": "// not what tools show\nexport const two = 2;",
  };
  const what = "begins without a comment: say in a /** sentence */ what the file is for";
  assert.deepEqual(faultsOf(checkFileHeader, files), [`packages/a/src/one.ts:1: ${what}`, `tools/two.ts:1: ${what}`]);
});

test("checkForbiddenCalls() reports JSON.parse, process.exit, new Date() and import.meta.main at their lines", () => {
  const source = [
    "JSON.parse(text);",
    "process.exit(1);",
    "process.chdir(folder);",
    "const now = new Date();",
    "if (import.meta.main) start();",
  ].join("\n");
  const lines = faultsOf(checkForbiddenCalls, { "packages/a/src/one.ts": source }).map((fault) => fault.split(": ").slice(0, 2));
  assert.deepEqual(lines, [
    ["packages/a/src/one.ts:1", "JSON.parse"],
    ["packages/a/src/one.ts:2", "process.exit"],
    ["packages/a/src/one.ts:3", "process.chdir"],
    ["packages/a/src/one.ts:4", "new Date()"],
    ["packages/a/src/one.ts:5", "import.meta.main"],
  ]);
});

test("checkForbiddenCalls() allows them in comments and strings, with arguments, and in their places", () => {
  const files = {
    "packages/a/src/main.ts": "process.exit(new Date().getTime());",
    "packages/a/src/real/clock.ts": "new Date();",
    "packages/a/src/one.ts": '// JSON.parse(text)\nconst text = "process.exit()";\nnew Date(0);',
    "packages/a/test/one.test.ts": "JSON.parse(text);",
    "packages/proto/src/json/read-json.ts": "JSON.parse(text);",
  };
  assert.deepEqual(faultsOf(checkForbiddenCalls, files), []);
});

test("checkSuppressions() reports a suppression without a reason", () => {
  const files = { "packages/a/src/one.ts": `\n// ${IGNORE} lint/x: needed`, "tools/suppressions.txt": "1" };
  assert.deepEqual(faultsOf(checkSuppressions, files), [
    `packages/a/src/one.ts:2: ${IGNORE} without a reason: end it with "because …"`,
  ]);
});

test("checkSuppressions() reports a number of suppressions that rose, and one that fell and wasn't written down", () => {
  const reasoned = `// ${IGNORE} lint/x: because the caller checked the length`;
  assert.deepEqual(faultsOf(checkSuppressions, { "tools/one.ts": reasoned, "tools/suppressions.txt": "1" }), []);
  assert.deepEqual(faultsOf(checkSuppressions, { "tools/one.ts": reasoned, "tools/suppressions.txt": "0" }), [
    "tools/suppressions.txt:1: allows 0, found 1 suppressions: remove one instead of adding one",
  ]);
  assert.deepEqual(faultsOf(checkSuppressions, { "tools/one.ts": "", "tools/suppressions.txt": "2" }), [
    "tools/suppressions.txt:1: allows 2, found 0 suppressions: write 0 there",
  ]);
  assert.deepEqual(faultsOf(checkSuppressions, { "tools/one.ts": "" }), [
    "tools/suppressions.txt:1: allows nothing, found 0 suppressions: write 0 there",
  ]);
});

test("checkDependencyDocs() accepts one row for each dependency, in any number of packages", () => {
  const files = { "package.json": MANIFEST, "packages/a/package.json": MANIFEST, "docs/dependencies.md": ROW };
  assert.deepEqual(faultsOf(checkDependencyDocs, files), []);
});

test("checkDependencyDocs() reports a dependency without a row, a row without a dependency, and a second row", () => {
  assert.deepEqual(faultsOf(checkDependencyDocs, { "packages/a/package.json": MANIFEST, "docs/dependencies.md": "# None" }), [
    'packages/a/package.json:3: "zod" has no row in docs/dependencies.md: add what it is for, why this one and what it may do',
  ]);
  const rows = `${ROW}\n${ROW}\n| \`left-pad\` | all | spaces | none | computes |`;
  assert.deepEqual(faultsOf(checkDependencyDocs, { "package.json": MANIFEST, "docs/dependencies.md": rows }), [
    'docs/dependencies.md:2: "zod" has a second row: keep one',
    'docs/dependencies.md:3: "left-pad" is no dependency of any package: remove the row',
  ]);
});

test("checkDependencyDocs() reports a version that isn't exact, an aliased one included", () => {
  for (const version of ["^4.6.7", "4", "latest", "npm:zod@^4.6.7", "*"]) {
    assert.deepEqual(
      faultsOf(checkDependencyDocs, { "package.json": MANIFEST.replace("4.6.7", version), "docs/dependencies.md": ROW }),
      [`package.json:3: "zod" is "${version}": write one exact version`],
    );
  }
  const aliased = MANIFEST.replace("4.6.7", "npm:@zod/zod@4.6.7");
  assert.deepEqual(faultsOf(checkDependencyDocs, { "package.json": aliased, "docs/dependencies.md": ROW }), []);
});

test("checkRunbookPointers() accepts pointers that lead to a heading and headings that are pointed at", () => {
  const files = {
    "packages/a/src/one.ts": '"see docs/runbook.md#disk-full";\ntype Pointer = `docs/runbook.md#${string}`;',
    "docs/runbook.md": "# Runbook\n\n## disk-full\n",
  };
  assert.deepEqual(faultsOf(checkRunbookPointers, files), []);
});

test("checkRunbookPointers() reports a pointer that leads nowhere or is put together", () => {
  const files = {
    "packages/a/src/one.ts": '"see docs/runbook.md#disk-full";\n`see docs/runbook.md#${anchor}`;',
    "docs/runbook.md": "# Runbook",
  };
  assert.deepEqual(faultsOf(checkRunbookPointers, files), [
    'packages/a/src/one.ts:1: points at "#disk-full", which docs/runbook.md doesn\'t have: add "## disk-full" there',
    'packages/a/src/one.ts:2: points at "": write the whole literal anchor, so that it can be searched for',
  ]);
});

test("checkRunbookPointers() reports headings that nothing points at, twice, unsorted, or that are no anchors", () => {
  const files = {
    "packages/a/src/one.ts": '"docs/runbook.md#two docs/runbook.md#one";',
    "docs/runbook.md": "## two\n## one\n## one\n## three\n## What to do",
  };
  assert.deepEqual(faultsOf(checkRunbookPointers, files), [
    'docs/runbook.md:2: "## one" comes after "## two": sort by anchor',
    'docs/runbook.md:3: "## one" is there twice: keep one',
    'docs/runbook.md:4: nothing points at "#three": remove it, or point at it where it is refused',
    'docs/runbook.md:5: the heading "What to do" is no anchor: use lower-case words joined by "-"',
    'docs/runbook.md:5: "## What to do" comes after "## three": sort by anchor',
  ]);
});

test("tools/house-rules.ts names every rule that found nothing to check, and fails", () => {
  using folder = makeFolder({});
  const run = spawnSync(process.execPath, [join(REPOSITORY, "tools/house-rules.ts"), folder.root], { encoding: "utf8" });
  assert.equal(run.status, 1);
  for (const rule of ["file size", "file header", "forbidden calls", "suppressions", "dependency docs", "runbook pointers"]) {
    assert.match(run.stdout, new RegExp(`^${rule}: found nothing to check`, "mu"));
  }
});
