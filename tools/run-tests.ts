/**
 * Runs the tests: `node tools/run-tests.ts [PATTERN…] [--option…]`.
 *
 * Unit tests (`*.test.ts`) share one process, which is twenty times faster than one each. Tests that start daemons (`*.e2e.ts`)
 * get a process each, two at a time. Property tests take the same random values in every run (property-seed.ts). A PATTERN keeps the files whose path contains it; options go to `node --test`.
 */
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isTestCounts, type TestCounts } from "./test-counts.ts";
import { TOOL_ENVIRONMENT } from "./workspace/run.ts";

interface Phase {
  readonly name: string;
  readonly glob: readonly string[];
  readonly options: readonly string[];
}

const PHASES: readonly Phase[] = [
  {
    name: "unit tests",
    glob: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    options: ["--test-isolation=none", "--test-timeout=60000"],
  },
  {
    name: "end-to-end tests",
    glob: ["packages/*/test/**/*.e2e.ts", "test/**/*.e2e.ts"],
    options: ["--test-isolation=process", "--test-concurrency=2", "--test-timeout=900000"],
  },
];

const wanted = process.argv.slice(2);
const patterns = wanted.filter((argument) => !argument.startsWith("-"));
const options = wanted.filter((argument) => argument.startsWith("-"));

function filesOf(phase: Phase): readonly string[] {
  return globSync(phase.glob, { exclude: ["**/node_modules"] })
    .filter((path) => patterns.length === 0 || patterns.some((pattern) => path.includes(pattern)))
    .sort();
}

/** Runs one phase and returns its counts, or undefined when it ended without any. */
function runPhase(phase: Phase, files: readonly string[], countsFile: string): TestCounts | undefined {
  process.stdout.write(`${phase.name}: ${files.length} files\n`);
  const reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"];
  const counter = [
    `--test-reporter=${join(import.meta.dirname, "test-counts-reporter.ts")}`,
    `--test-reporter-destination=${countsFile}`,
  ];
  const seed = `--import=${join(import.meta.dirname, "property-seed.ts")}`;
  const run = spawnSync(process.execPath, [seed, "--test", ...reporters, ...counter, ...phase.options, ...options, ...files], {
    env: TOOL_ENVIRONMENT,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (run.status !== 0) process.exitCode = 1;
  try {
    const counts: unknown = JSON.parse(readFileSync(countsFile, "utf8"));
    return isTestCounts(counts) ? counts : undefined;
  } catch {
    // No file or half a file: the run ended before its summary, which the caller counts as a failure.
    process.stdout.write(
      `${phase.name}: ended without a summary (${run.error?.message ?? run.signal ?? `status ${run.status}`})\n`,
    );
    return undefined;
  }
}

function runAll(): void {
  const bundle = spawnSync(process.execPath, [join(import.meta.dirname, "bundle-toolkit.ts")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (bundle.status !== 0) process.exitCode = 1;
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-tests-"));
  const total = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
  for (const [index, phase] of PHASES.entries()) {
    const files = filesOf(phase);
    if (files.length === 0) continue;
    const counts = runPhase(phase, files, join(folder, `${index}.json`));
    if (counts === undefined) {
      process.exitCode = 1;
      total.fail++;
      continue;
    }
    total.tests += counts.tests;
    total.suites += counts.suites;
    total.pass += counts.passed;
    total.fail += counts.failed;
    total.cancelled += counts.cancelled;
    total.skipped += counts.skipped;
    total.todo += counts.todo;
  }
  rmSync(folder, { recursive: true });
  if (total.tests === 0) {
    process.exitCode = 1;
    process.stdout.write(`no test was run: no file matches ${patterns.join(" ") || "the globs"}\n`);
  }
  const milliseconds = Math.round(performance.now() - started);
  process.stdout.write("\nall tests together:\n");
  for (const [name, count] of Object.entries({ ...total, duration_ms: milliseconds })) {
    process.stdout.write(`ℹ ${name} ${count}\n`);
  }
}

runAll();
