/** An explanation in the words of the wire: what brokerd answers, and what bxctl prints of a decision on record. */
import type { Explanation, RaisedBy } from "@boxmaker/proto";
import type { PolicyState } from "../rules/judge.ts";
import type { CallExplanation } from "./explain.ts";

/** Grants that don't speak about the call, as far as they are named: an owner may have thousands. */
const MAX_UNMATCHED = 50;

/** What is known beside the explanation itself. */
export interface ExplainedState extends Pick<PolicyState, "origin" | "ceiling"> {
  readonly raisedBy: readonly RaisedBy[];
}

export function explanationBody(explanation: CallExplanation, { origin, ceiling, raisedBy }: ExplainedState): Explanation["body"] {
  const { matched, unmatched, pathLabels, wouldPass, ...rest } = explanation;
  return {
    ...rest,
    problem: null,
    origin,
    ceiling,
    raised_by: raisedBy,
    path_labels: pathLabels,
    matched: matched.map(({ isDefault, ...match }) => ({ ...match, is_default: isDefault })),
    unmatched: unmatched.slice(0, MAX_UNMATCHED),
    unmatched_more: Math.max(0, unmatched.length - MAX_UNMATCHED),
    would_pass: wouldPass,
  };
}
