/** Has a box wait for a call that is still to come. */
import assert from "node:assert/strict";
import { layOut } from "../../../src/runner/layers.ts";
import type { BoxPool } from "../../../src/runner/pool/box-pool.ts";
import type { RunSpec } from "../../../src/runner/run-spec.ts";
import type { Runtime } from "../../../src/runner/runtime.ts";
import { SandboxRuntime } from "../../../src/runner/sandbox-runtime.ts";

export function poolOf(runtime: Runtime): BoxPool {
  assert.ok(runtime instanceof SandboxRuntime && runtime.pool !== null);
  return runtime.pool;
}

/** Polls, since a box's state is the kernel's: nothing tells of it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Resolves when a box waits that is complete, and is the only one. */
export async function startAhead(runtime: Runtime, spec: RunSpec): Promise<void> {
  const pool = poolOf(runtime);
  const layering = await layOut(spec);
  assert.ok(layering.kind === "layers", JSON.stringify(layering));
  pool.dropAll();
  pool.startAfter(spec, { layers: layering.layers, egress: null }, () => 0);
  await until(() => pool.complete === 1);
}
