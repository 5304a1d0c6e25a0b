/** How a turn ended. */
import type { ErrorCode, Usage } from "@boxmaker/proto";

/** `detail` is one printable line, fixed or escaped. */
export interface FailedTurn {
  readonly kind: "failed";
  readonly code: ErrorCode;
  readonly detail: string;
}

export type TurnOutcome = { readonly kind: "answered"; readonly content: string; readonly usage: Usage } | FailedTurn;

/** The sum of two requests; what one of them doesn't say, the sum doesn't say. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    prompt: a.prompt + b.prompt,
    completion: a.completion + b.completion,
    cached: a.cached === null || b.cached === null ? null : a.cached + b.cached,
  };
}
