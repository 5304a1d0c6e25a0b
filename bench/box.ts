/** What the box costs when it does nothing. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Figure } from "./figure/figure.ts";
import { compareInterleaved } from "./figure/sample.ts";

const BXCTL = fileURLToPath(new URL("../packages/bxctl/src/main.ts", import.meta.url));
const ROUNDS = 15;

/** Runs Node once, to its end. @throws {Error} when it fails: a figure of a failing program says nothing */
function runNode(...args: readonly string[]): void {
  const run = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  if (run.status !== 0) throw new Error(`node ${args.join(" ")} ended with ${run.status ?? run.signal}: ${run.stderr}`);
}

/** `bxctl approvals` from source, with a brokerd that answers at once. */
async function measureCold(): Promise<Figure> {
  const folder = await mkdtemp(join(tmpdir(), "bench-box-"));
  const socket = join(folder, "run", "admin.sock");
  const broker = new Worker(new URL("./figure/idle-broker.ts", import.meta.url), { workerData: socket });
  try {
    await once(broker, "message");
    return {
      name: "bxctl_cold_vs_node",
      value: compareInterleaved(
        () => runNode(BXCTL, "approvals", "--admin-socket", socket),
        () => runNode("-e", "0"),
        ROUNDS,
      ),
      unit: "ratio",
      against: `node -e 0, medians of ${ROUNDS} interleaved runs of bxctl approvals from source`,
    };
  } finally {
    await broker.terminate();
    await rm(folder, { recursive: true, force: true });
  }
}

export async function run(): Promise<readonly Figure[]> {
  return [await measureCold()];
}
