/** Each linter, compiler and checker of the gate is seen to report what it is there for, and to fail where it finds nothing. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CLEAN, makeTree, REPOSITORY, type Seeds } from "./seeded-tree.ts";

interface Outcome {
  readonly status: number | null;
  readonly output: string;
}

function runTool(root: string, program: string, ...args: readonly string[]): Outcome {
  const run = spawnSync(program, args, { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
  return { status: run.status, output: `${run.stdout}${run.stderr}` };
}

function runGate(root: string): Outcome {
  return runTool(root, process.execPath, join(REPOSITORY, "tools/check.ts"), "--static");
}

/** A planted fault: the name under which its tool reports it, and its source. The file gets the name's last word. */
type Faults = Readonly<Record<string, string>>;

const SOURCE = "packages/loopd/src/";

function seed(faults: Faults, fileOf: (rule: string) => string): Seeds {
  return Object.fromEntries(Object.entries(faults).map(([rule, source]) => [fileOf(rule), source]));
}

function kebabCase(rule: string): string {
  return `${SOURCE}${rule.replaceAll(/[^a-z]+/giu, "-").toLowerCase()}.ts`;
}

const BIOME: Faults = {
  "lint/complexity/noBannedTypes": "export type Anything = {};",
  "lint/correctness/noUndeclaredDependencies": 'export { Ledger } from "@boxmaker/brokerd";',
  "lint/correctness/noUnusedImports": 'import { two } from "@boxmaker/proto";\n\nexport const one = 1;',
  "lint/correctness/noUnusedVariables": "const one = 1;\n\nexport const two = 2;",
  "lint/correctness/useImportExtensions": 'export { turn } from "./turn";',
  "lint/performance/noReExportAll": 'export * from "./turn.ts";',
  "lint/style/noDefaultExport": "export default 1;",
  "lint/style/noEnum": "export enum Mode {\n  One = 1,\n}",
  "lint/style/noNonNullAssertion": "export const size = (text?: string): number => text!.length;",
  "lint/style/useImportType": 'import { Turn } from "./turn.ts";\n\nexport type Same = Turn;',
  "lint/style/useNodejsImportProtocol": 'import { readFileSync } from "fs";\n\nexport const read = readFileSync;',
  "lint/suspicious/noConsole": 'console.log("one");',
  "lint/suspicious/noEmptyBlockStatements": "export function nothing(): void {}",
  "lint/suspicious/noExplicitAny": "export type Loose = any;",
};

const OXLINT: Faults = {
  "no-restricted-globals": "export const later = (): unknown => setTimeout(() => 1, 1);",
  "no-restricted-properties": "export const now = (): number => Date.now();",
  "no-restricted-imports": 'import { setTimeout as sleep } from "node:timers/promises";\n\nexport const wait = sleep;',
  "consistent-type-assertions": "export const id = (text: string): 1 => text as unknown as 1;",
  "explicit-module-boundary-types": "export function two() {\n  return 2;\n}",
  "no-floating-promises": "export function start(): void {\n  Promise.resolve(1);\n}",
  "no-misused-promises": "export const all = (list: number[]): void => list.forEach(async (one) => Promise.resolve(one));",
  "no-unsafe-assignment": 'export const parsed: string = JSON.parse("1");',
  "no-unsafe-member-access": 'export const name: unknown = JSON.parse("1").name;',
  "no-unsafe-return": 'export const parse = (): string => JSON.parse("1");',
  "only-throw-error": 'export function fail(): never {\n  throw "one";\n}',
  "switch-exhaustiveness-check":
    'export function size(kind: "one" | "two"): number {\n  switch (kind) {\n    case "one":\n      return 1;\n    default:\n      return 0;\n  }\n}',
};

const TSC: Faults = {
  TS2322: "export const text: string = 1;",
  TS2375: "export const optional: { one?: number } = { one: undefined };",
  TS18048: "const map: Record<string, { one: number }> = {};\nconst { first } = map;\nexport const one = first.one;",
  TS1294: "export class Point {\n  constructor(readonly x: number) {}\n}",
  TS6133: "export function one(unused: number): number {\n  return 1;\n}",
  TS4111: "export const one = (map: Record<string, number>): unknown => map.one;",
  TS2835: 'export { turn } from "./turn";',
};

const KNIP: Faults = {
  "Unused files": "export const dead = 1;",
};

function assertReported(faults: Faults, { status, output }: Outcome, pattern: (rule: string, file: string) => RegExp): void {
  assert.notEqual(status, 0, output);
  for (const rule of Object.keys(faults)) assert.match(output, pattern(rule, kebabCase(rule)), `${rule} must be reported`);
}

test("the gate passes on a clean tree, and each of its steps says so", () => {
  using tree = makeTree(CLEAN, {
    "docs/dependencies.md": "# Dependencies",
    "docs/runbook.md": "## one",
    "tools/suppressions.txt": "0",
    "packages/loopd/src/turn.ts": '/** See docs/runbook.md#one. */\nexport const turn = "one";',
  });
  const { output } = runGate(tree.root);
  // A small tree can't use every dependency or document it: those two steps have tests of their own.
  for (const step of ["format and lint", "types", "typed lint", "dependency rules"]) {
    assert.match(output, new RegExp(`^passed .* ${step}$`, "mu"), output);
  }
});

test("every step of the gate fails in a tree without sources", () => {
  using tree = makeTree();
  const { status, output } = runGate(tree.root);
  assert.equal(status, 1);
  for (const step of ["types", "house rules", "typed lint", "dependency rules", "unused code"]) {
    assert.match(output, new RegExp(`^FAILED .* ${step}:`, "mu"), output);
  }
});

test("the formatter's step fails where there is no file at all", () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-empty-"));
  try {
    assert.match(runGate(folder).output, /^FAILED .* format and lint:/mu);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("biome reports each planted fault", () => {
  using tree = makeTree(CLEAN, { "packages/loopd/src/turn.ts": "export type Turn = 1;" }, seed(BIOME, kebabCase));
  const outcome = runTool(tree.root, "biome", "ci", "--colors=off", "--max-diagnostics=none", ".");
  assertReported(BIOME, outcome, (rule, file) => new RegExp(`^\\.?/?${RegExp.escape(file)}:[0-9:]+ ${rule} `, "mu"));
});

test("biome reports a file name that isn't kebab-case and a file that isn't formatted", () => {
  using tree = makeTree(CLEAN, {
    "packages/loopd/src/twoWords.ts": "export const one = 1",
    "packages/loopd/src/odd.ts": "export  const a=1",
  });
  const { status, output } = runTool(tree.root, "biome", "ci", "--colors=off", "--max-diagnostics=none", ".");
  assert.notEqual(status, 0);
  assert.match(output, /packages\/loopd\/src\/twoWords\.ts:?[0-9:]* lint\/style\/useFilenamingConvention/u);
  assert.match(output, /packages\/loopd\/src\/odd\.ts format/u);
});

test("oxlint reports each planted fault", () => {
  using tree = makeTree(CLEAN, seed(OXLINT, kebabCase));
  const outcome = runTool(tree.root, "oxlint", "--format=unix");
  assertReported(OXLINT, outcome, (rule, file) => new RegExp(`${RegExp.escape(file)}:[0-9:]+ .*\\(${rule}\\)`, "u"));
});

test("oxlint lets real/ and main.ts use the clock, and the ids of proto brand", () => {
  using tree = makeTree(CLEAN, {
    "packages/loopd/src/real/clock.ts": "export const now = (): number => Date.now();",
    "packages/proto/src/ids/id.ts": 'export const brand = (text: string): "one" => text as "one";',
  });
  const { status, output } = runTool(tree.root, "oxlint", "--format=unix");
  assert.equal(status, 0, output);
});

test("the compiler reports each planted fault", () => {
  using tree = makeTree(
    CLEAN,
    { "packages/loopd/src/turn.ts": 'export const turn = "one";' },
    seed(TSC, (rule) => `${SOURCE}${rule.toLowerCase()}.ts`),
  );
  const { status, output } = runTool(tree.root, "tsc", "-p", ".", "--pretty", "false");
  assert.notEqual(status, 0);
  for (const rule of Object.keys(TSC)) {
    assert.match(
      output,
      new RegExp(`${rule.toLowerCase()}\\.ts\\([0-9,]+\\): error ${rule}:`, "u"),
      `${rule} must be reported\n${output}`,
    );
  }
});

test("a type test fails when what must not compile does", () => {
  using tree = makeTree(CLEAN, {
    "packages/loopd/test/one.types.ts": `// ${"@ts-expect"}-error a number is no string\nexport const text: string = "1";`,
  });
  assert.match(runTool(tree.root, "tsc", "-p", ".", "--pretty", "false").output, /one\.types\.ts\(1,1\): error TS2578/u);
});

test("knip reports a file that nothing imports, an export that nothing uses and a dependency that nothing needs", () => {
  using tree = makeTree(CLEAN, seed(KNIP, kebabCase), {
    "packages/proto/src/two.ts": "export const two = 2;\nexport const three = 3;",
  });
  const { status, output } = runTool(tree.root, "knip", "--no-progress", "--no-config-hints");
  assert.notEqual(status, 0);
  assert.match(output, /Unused files.*packages\/loopd\/src\/unused-files\.ts/su);
  assert.match(output, /Unused exports.*three .* packages\/proto\/src\/two\.ts/su);
  assert.match(output, /Unused dependencies.*undici .* packages\/loopd\/package\.json/su);
});
