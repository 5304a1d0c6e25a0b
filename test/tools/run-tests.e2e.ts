/** The runner of the tests fails whenever a test did, or none was run, and always says how many there were. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, REPOSITORY, type Seeds } from "../architecture/seeded-tree.ts";

const HEAD = 'import { test } from "node:test";\n';
const PASSING = `${HEAD}test("one", () => {});\ntest("two", () => {});\ntest("three", { skip: "because" }, () => {});`;
const FAILING = `${HEAD}test("four", () => {\n  throw new Error("four");\n});`;
const CRASHING = "process.kill(process.pid, 'SIGKILL');";

function runTests(files: Seeds, ...args: readonly string[]): { readonly status: number | null; readonly counts: string } {
  using folder = makeFolder({ "package.json": '{ "type": "module" }', ...files });
  // A test that runs tests must not tell the inner ones that they are inner ones.
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const argv = [join(REPOSITORY, "tools/run-tests.ts"), ...args];
  const run = spawnSync(process.execPath, argv, { cwd: folder.root, env, encoding: "utf8" });
  const [, counts = ""] = run.stdout.split("all tests together:\n");
  return {
    status: run.status,
    counts: counts
      .replaceAll(/ℹ |duration_ms [0-9]+\n/gu, "")
      .trim()
      .replaceAll("\n", ", "),
  };
}

test("run-tests adds up the unit and the end-to-end tests, and succeeds when all passed", () => {
  const outcome = runTests({ "packages/a/test/unit.test.ts": PASSING, "test/deep/whole.e2e.ts": PASSING });
  assert.deepEqual(outcome, { status: 0, counts: "tests 6, suites 0, pass 4, fail 0, cancelled 0, skipped 2, todo 0" });
});

test("run-tests fails when a unit test fails, and still runs the end-to-end tests", () => {
  const outcome = runTests({ "packages/a/test/unit.test.ts": FAILING, "test/whole.e2e.ts": PASSING });
  assert.deepEqual(outcome, { status: 1, counts: "tests 4, suites 0, pass 2, fail 1, cancelled 0, skipped 1, todo 0" });
});

test("run-tests fails when an end-to-end test fails", () => {
  const outcome = runTests({ "packages/a/test/unit.test.ts": PASSING, "test/whole.e2e.ts": FAILING });
  assert.deepEqual(outcome, { status: 1, counts: "tests 4, suites 0, pass 2, fail 1, cancelled 0, skipped 1, todo 0" });
});

test("run-tests fails when the process of the unit tests is killed before its summary", () => {
  const outcome = runTests({ "packages/a/test/unit.test.ts": CRASHING });
  assert.deepEqual(outcome, { status: 1, counts: "tests 0, suites 0, pass 0, fail 1, cancelled 0, skipped 0, todo 0" });
});

test("run-tests keeps the files whose path contains a pattern", () => {
  const outcome = runTests({ "packages/a/test/unit.test.ts": FAILING, "packages/b/test/unit.test.ts": PASSING }, "packages/b");
  assert.deepEqual(outcome, { status: 0, counts: "tests 3, suites 0, pass 2, fail 0, cancelled 0, skipped 1, todo 0" });
});

test("run-tests fails when no file matches", () => {
  assert.equal(runTests({ "packages/a/test/unit.test.ts": PASSING }, "no-such-file").status, 1);
  assert.equal(runTests({}).status, 1);
});
