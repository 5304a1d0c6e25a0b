/** T4 for the owner's own grants: an approval is of one effect, and counts for nothing in another state or by other grants. */
import { CallId, canonicalJson, type Label, type Timestamp } from "@boxmaker/proto";
import { type Ask, decide, redecide } from "../rules/decide.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { CallClass } from "./call-classes.ts";
import { type Checked, type Counterexample, checkAll } from "./checked.ts";
import { ANY_BOX, LABELS, stateAt } from "./circumstances.ts";

const ANY_CALL = CallId.parse(1);

/** The lowest state in which the call asks, with the ask. */
function findAsk(
  set: ValidGrantSet,
  { call, vantage }: CallClass,
  now: Timestamp,
): { readonly label: Label; readonly ask: Ask } | undefined {
  const { session, origin } = vantage;
  const request = { session, call: ANY_CALL, tool: call.tool, argumentsText: canonicalJson(call.arguments) };
  for (const label of LABELS) {
    const verdict = decide(request, set, stateAt(label, origin), now, ANY_BOX);
    if (verdict.kind === "ask") return { label, ask: verdict.ask };
    // A higher state is never more lenient.
    if (verdict.kind === "denied" && !label.untrusted) return undefined;
  }
  return undefined;
}

function findLoose(set: ValidGrantSet, at: CallClass, now: Timestamp): Counterexample | undefined {
  const found = findAsk(set, at, now);
  if (found === undefined) return undefined;
  const { label, ask } = found;
  const { origin } = at.vantage;
  const again = redecide(ask, set, stateAt(label, origin), now, ANY_BOX);
  if (again.kind !== "allowed" || again.decision.request !== ask.request) return { problem: "doesn't run as approved", at, label };
  for (const other of LABELS.filter((each) => each !== label)) {
    const moved = redecide(ask, set, stateAt(other, origin), now, ANY_BOX);
    if (moved.kind === "allowed") return { problem: "runs by an approval of another state", at, label: other };
  }
  const without = { ...set, grants: set.grants.filter(({ grant }) => grant.id !== ask.grant) };
  const orphaned = redecide(ask, without, stateAt(label, origin), now, ANY_BOX);
  const isSame = without.grants.length === set.grants.length;
  return !isSame && orphaned.kind === "allowed"
    ? { problem: `runs by an approval under "${ask.grant}" without it`, at, label }
    : undefined;
}

/** T4, for every call that asks in some state. That each approval is used once is for the log to show. */
export function checkApprovals(set: ValidGrantSet, classes: readonly CallClass[], now: Timestamp): Checked {
  return checkAll(classes, (at) => findLoose(set, at, now));
}
