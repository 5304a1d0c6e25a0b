/** A runtime that runs nothing: it keeps what it was given and answers what a test says. */
import { type AbsPath, holdsPath, type RuntimeName, type ToolName } from "@boxmaker/proto";
import type { RunSpec } from "../../src/runner/run-spec.ts";
import type { RunOutcome, Runtime } from "../../src/runner/runtime.ts";

export const DONE: RunOutcome = { kind: "done", status: "ok", content: "hello from the tool", truncated: false };

export class RecordingRuntime implements Runtime {
  readonly name: RuntimeName = "bubblewrap";
  readonly image = null;
  readonly runs: RunSpec[] = [];
  running = 0;
  /** Tools that it has no sandbox for. */
  lacking: readonly ToolName[] = [];
  /** How often it was told that the grants have changed. */
  grantChanges = 0;
  /** Paths that a box which has answered may write still. */
  lingering: readonly AbsPath[] = [];
  /** What becomes of a run. */
  answer: (spec: RunSpec, signal: AbortSignal) => RunOutcome | Promise<RunOutcome> = () => DONE;

  canRun(tool: ToolName): boolean {
    return !this.lacking.includes(tool);
  }

  async run(spec: RunSpec, { signal }: { readonly signal: AbortSignal }): Promise<RunOutcome> {
    this.runs.push(spec);
    this.running++;
    try {
      return await this.answer(spec, signal);
    } finally {
      this.running--;
    }
  }

  mayWrite(path: AbsPath): boolean {
    return this.lingering.some((at) => holdsPath(at, path) || holdsPath(path, at));
  }

  grantsChanged(): void {
    this.grantChanges++;
  }

  drain(): void {}

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** An answer that ends a run only when the test, or a kill, says so. */
export function untilToldOrKilled(): { readonly answer: RecordingRuntime["answer"]; readonly end: () => void } {
  const { promise, resolve } = Promise.withResolvers<RunOutcome>();
  return {
    answer: (_, signal) => {
      const killed = (): void => resolve({ kind: "error", code: "cancelled", detail: "killed" });
      if (signal.aborted) killed();
      signal.addEventListener("abort", killed, { once: true });
      return promise;
    },
    end: () => resolve(DONE),
  };
}
