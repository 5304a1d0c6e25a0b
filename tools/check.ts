/** The gate: every check there is, the fast ones first. `node tools/check.ts [--static]` (--static leaves the tests out). */
import { spawnSync } from "node:child_process";
import { TOOL_ENVIRONMENT } from "./workspace/run.ts";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** What the output must show, for tools that succeed on nothing. */
  readonly proof?: RegExp;
}

const STATIC_STEPS: readonly Step[] = [
  {
    name: "format and lint",
    command: ["biome", "ci", "--colors=off", "--error-on-warnings", "."],
    proof: /Checked [1-9][0-9]* files/u,
  },
  { name: "types", command: ["tsc", "-p", "."] },
  { name: "house rules", command: ["node", "tools/house-rules.ts"] },
  { name: "typed lint", command: ["oxlint", "--deny-warnings"], proof: /on [1-9][0-9]* files/u },
  {
    name: "dependency rules",
    command: ["depcruise", "packages", "tools", "bench", "test"],
    proof: /\([1-9][0-9]* modules/u,
  },
  { name: "unused code", command: ["knip", "--no-progress", "--no-config-hints"] },
];

const TESTS: Step = { name: "tests", command: ["node", "tools/run-tests.ts"] };

/** Runs one step; its output is shown when it fails. */
function passes({ name, command, proof }: Step): boolean {
  const started = performance.now();
  const [program = "", ...args] = command;
  const run = spawnSync(program, args, { env: TOOL_ENVIRONMENT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const output = `${run.stdout}${run.stderr}`;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (run.error === undefined && run.status === 0 && (proof === undefined || proof.test(output))) {
    process.stdout.write(`passed  ${seconds} s  ${name}\n`);
    return true;
  }
  const outcome =
    run.error?.message ?? (run.status === 0 ? "found nothing to check" : `ended with ${run.status ?? run.signal ?? "nothing"}`);
  process.stdout.write(`${output}FAILED  ${seconds} s  ${name}: ${command.join(" ")} ${outcome}\n`);
  return false;
}

const failed = STATIC_STEPS.filter((step) => !passes(step));
if (failed.length > 0) {
  process.exitCode = 1;
  process.stdout.write(`check failed: ${failed.map(({ name }) => name).join(", ")}; the tests were not run\n`);
} else if (!process.argv.includes("--static")) {
  const [program = "", ...args] = TESTS.command;
  process.exitCode = spawnSync(program, args, { env: TOOL_ENVIRONMENT, stdio: "inherit" }).status ?? 1;
}
