/** What the box costs when it does nothing. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Figure } from "./figure/figure.ts";
import { compareInterleaved } from "./figure/sample.ts";

const BXCTL = fileURLToPath(new URL("../packages/bxctl/src/main.ts", import.meta.url));
const ROUNDS = 15;

/** Runs Node once, to its end. @throws {Error} when it fails: a figure of a failing program says nothing */
function runNode(...args: readonly string[]): void {
  const run = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  if (run.status !== 0) throw new Error(`node ${args.join(" ")} ended with ${run.status ?? run.signal}: ${run.stderr}`);
}

function measureCold(): Figure {
  return {
    name: "bxctl_cold_vs_node",
    value: compareInterleaved(
      () => runNode(BXCTL, "--help"),
      () => runNode("-e", "0"),
      ROUNDS,
    ),
    unit: "ratio",
    against: `node -e 0, medians of ${ROUNDS} interleaved runs`,
  };
}

export function run(): Promise<readonly Figure[]> {
  return Promise.resolve([measureCold()]);
}
