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

/** Fails with the value that a property test takes first. */
const DRAWING = `import fc from ${JSON.stringify(import.meta.resolve("fast-check"))};
import { test } from "node:test";
test("draws", () => {
  fc.assert(fc.property(fc.nat(), (value) => {
    throw new Error("drew " + value);
  }), { endOnFailure: true });
});`;

interface Outcome {
  readonly status: number | null;
  readonly counts: string;
}

interface Run extends Outcome {
  readonly output: string;
}

function runSeeded(seed: string | undefined, files: Seeds, args: readonly string[]): Run {
  using folder = makeFolder({ "package.json": '{ "type": "module" }', ...files });
  // A test that runs tests must not tell the inner ones that they are inner ones.
  const { NODE_TEST_CONTEXT, BOXMAKER_SEED, ...rest } = process.env;
  const env = seed === undefined ? rest : { ...rest, BOXMAKER_SEED: seed };
  const argv = [join(REPOSITORY, "tools/run-tests.ts"), ...args];
  const run = spawnSync(process.execPath, argv, { cwd: folder.root, env, encoding: "utf8" });
  const [output = "", counts = ""] = run.stdout.split("all tests together:\n");
  return {
    status: run.status,
    output: output + run.stderr,
    counts: counts
      .replaceAll(/ℹ |duration_ms [0-9]+\n/gu, "")
      .trim()
      .replaceAll("\n", ", "),
  };
}

function runTests(files: Seeds, ...args: readonly string[]): Outcome {
  const { status, counts } = runSeeded(undefined, files, args);
  return { status, counts };
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

test("run-tests gives property tests the same values in every run, and others on request", () => {
  const drawn = (seed?: string): readonly string[] => {
    const { output, status } = runSeeded(seed, { "packages/a/test/unit.test.ts": DRAWING }, []);
    assert.equal(status, 1);
    return [...output.matchAll(/seed: (-?[0-9]+)/gu)].map(([, found = ""]) => found);
  };
  const usual = drawn();
  assert.ok(usual.length > 0);
  assert.deepEqual(drawn(), usual);
  assert.ok(drawn("17").every((seed) => seed === "17"));
  assert.ok(drawn("random").length > 0);
});

test("run-tests fails with a seed that is no number, and says what it expected", () => {
  const { status, output } = runSeeded("lucky", { "packages/a/test/unit.test.ts": PASSING }, []);
  assert.equal(status, 1);
  assert.match(output, /BOXMAKER_SEED is "lucky": expected a whole number or "random"/u);
});
