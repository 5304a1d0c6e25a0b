/** Why the program could not start, as the owner is told it. */

/** A reason not to start: `message` says what and what to do, `runbook` is where that is explained. */
export interface StartRefusal {
  readonly message: string;
  readonly runbook: `docs/runbook.md#${string}`;
}

/** The one line that the owner reads. */
export function refusalLine(refusal: StartRefusal): string {
  return `inferproxy: ${refusal.message}; see ${refusal.runbook}`;
}
