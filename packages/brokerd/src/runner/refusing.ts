/** The runtime of a configuration without `[runner]`: decides and records as ever, and runs nothing. */
import type { RunOutcome, Runtime } from "./runtime.ts";

/** Every call fails with a fixed sentence. */
export const refusingRuntime: Runtime = {
  name: "refusing",
  image: null,
  canRun(): boolean {
    // Decisions are as with a sandbox: only the run is left out.
    return true;
  },
  async run(): Promise<RunOutcome> {
    return { kind: "error", code: "no_runner", detail: "no runner is configured" };
  },
  mayWrite(): boolean {
    return false;
  },
  grantsChanged(): void {
    // Nothing is kept for a next call.
  },
  drain(): void {
    // The same.
  },
  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing runs, so nothing has to be ended.
  },
};
