/** What runs one decided call: the seam between the decision and a sandbox. */
import type { AbsPath, RuntimeName, ToolName } from "@boxmaker/proto";
import type { RunSpec } from "./run-spec.ts";

/** Why a call has no result of its tool. */
export type RunErrorCode =
  | "no_runner"
  | "unsupported"
  | "no_curl"
  | "egress_failed"
  | "mount_unusable"
  | "mount_changed"
  | "host_executed"
  | "start_failed"
  | "timed_out"
  | "killed"
  | "no_answer"
  | "cancelled";

/** `done`: the tool's own result. `error`: there is none; `detail` is for the log only, and may quote what a tool wrote. */
export type RunOutcome =
  | { readonly kind: "done"; readonly status: "ok" | "failed"; readonly content: string; readonly truncated: boolean }
  | { readonly kind: "error"; readonly code: RunErrorCode; readonly detail: string };

/** What the model is told about a call without a result. Nothing of the cause reaches it. */
export const RUN_SENTENCES: Readonly<Record<RunErrorCode, string>> = {
  no_runner: "The call was allowed but not run: this box has no sandbox configured.",
  unsupported:
    "The call was allowed but not run: this tool needs Podman or bubblewrap, which the owner has to install and configure.",
  no_curl: "The call was allowed but not run: fetching needs curl 7.84 or newer, which the owner has to install.",
  egress_failed: "The call was not run: the sandbox's way to the network could not be opened.",
  mount_unusable: "The call was not run: a granted path is missing or can't be mounted.",
  mount_changed: "The call was not run: a granted path was replaced after the call was decided.",
  host_executed:
    "The call was not run: programs of the host execute what is in that place, and the grant does not allow writing it (host_exec).",
  start_failed: "The call was not run: the sandbox could not be started.",
  timed_out: "The tool was stopped at its time limit. What it did until then stays done.",
  killed: "The tool was killed, probably at its memory limit. What it did until then stays done.",
  no_answer: "The tool ended without an answer. What it did until then stays done.",
  cancelled: "The tool was stopped, because the box is shutting down. What it did until then stays done.",
};

/** Runs calls, one box each. Disposing it ends every box that still runs and resolves when none is left. */
export interface Runtime extends AsyncDisposable {
  readonly name: RuntimeName;
  /** `sha256:…` of the image, where the runtime has one. */
  readonly image: string | null;
  /** Whether such a call can be run at all, so that somebody may be asked about it. */
  canRun(tool: ToolName): boolean;
  /**
   * Runs one call in a box of its own. Resolves when its answer is there; never rejects for what a call can come to.
   *
   * Aborting `signal` kills the box and answers `cancelled`.
   */
  run(spec: RunSpec, options: { readonly signal: AbortSignal }): Promise<RunOutcome>;
  /** Whether a box may still write the path, something below it, or a parent of it: one that has answered may not have ended. */
  mayWrite(path: AbsPath): boolean;
  /** To be called when the grants have changed: nothing that was made for the old ones serves another call. */
  grantsChanged(): void;
  /** To be called when no further call will come: nothing is kept for one. */
  drain(): void;
}
