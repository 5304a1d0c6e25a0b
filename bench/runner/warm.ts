/** A call that is served by a box which was started ahead. */
import type { Sandbox } from "../../packages/brokerd/test/runner/sandboxes.ts";
import type { Figure } from "../figure/figure.ts";
import { quantile } from "../figure/sample.ts";
import type { BenchBox, Call } from "./bench-box.ts";

const MAX_CALLS = 30;
const MAX_MS = 4_000;
export async function measureWarm({ name }: Sandbox, box: BenchBox, maxCalls: number = MAX_CALLS): Promise<readonly Figure[]> {
  const reads = await callsOf(box, "read_file", maxCalls);
  const commands = await callsOf(box, "shell", maxCalls);
  return [
    { name: `${name}_warm_ms`, value: quantile(reads, 0.5), unit: "ms", against: null },
    { name: `${name}_warm_p90_ms`, value: quantile(reads, 0.9), unit: "ms", against: null },
    { name: `${name}_warm_shell_ms`, value: quantile(commands, 0.5), unit: "ms", against: null },
  ];
}

async function callsOf(box: BenchBox, call: Call, maxCalls: number): Promise<readonly number[]> {
  const { pool } = box.runtime;
  const times: number[] = [];
  const until = performance.now() + MAX_MS;
  // No box for other calls is to be taken for the one that the first of these leaves.
  await box.quiet();
  await box.call(call);
  while (times.length < maxCalls && (times.length === 0 || performance.now() < until)) {
    await box.untilOneWaits();
    const served = pool?.served;
    const took = await box.call(call);
    if (pool?.served === served) throw new Error("expected the call to be served by the box that waited");
    times.push(took);
  }
  return times;
}
