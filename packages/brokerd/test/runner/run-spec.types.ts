/** What must not compile: a RunSpec, or anything that looks like one, made anywhere but in buildRunSpec(). */
import type { RunSpec } from "../../src/runner/run-spec.ts";
import type { Runtime } from "../../src/runner/runtime.ts";

type LookAlike = { readonly [K in keyof RunSpec]: RunSpec[K] };

export async function misuse(runtime: Runtime, lookAlike: LookAlike, signal: AbortSignal): Promise<void> {
  // @ts-expect-error: has every public key, and is none.
  await runtime.run(lookAlike, { signal });
  // @ts-expect-error: a call can't be run without a way to stop it.
  await runtime.run(lookAlike);
}
