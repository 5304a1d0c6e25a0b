/** Explanations as brokerd gives them. */
import { AdminAnswer } from "@boxmaker/proto";

const PUBLIC = { taint: "public", untrusted: false };

/** A call that is allowed by nothing in particular, with `changes`. */
export function explanation(changes: object = {}): AdminAnswer {
  return AdminAnswer.parse({
    kind: "explanation",
    body: {
      outcome: "allowed",
      reason: null,
      problem: null,
      grant: null,
      label: null,
      origin: "terminal",
      ceiling: "secret",
      before: PUBLIC,
      after: null,
      raised_by: [],
      path_labels: [],
      approvers: [],
      matched: [],
      unmatched: [],
      unmatched_more: 0,
      otherwise: null,
      would_pass: [],
      ...changes,
    },
  });
}
