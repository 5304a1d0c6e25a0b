/** The states, origins and sessions that a set of grants can tell apart: all there are, each kind once. */
import { DATA_CLASSES, type Label, Origin, SessionId } from "@boxmaker/proto";
import type { Grant } from "../rules/grant.ts";
import type { PolicyState } from "../rules/judge.ts";
import type { BoxKind } from "../rules/plan-run.ts";

/** All states of a session, lower ones first. */
export const LABELS: readonly Label[] = DATA_CLASSES.flatMap((taint) =>
  [false, true].map((untrusted) => Object.freeze({ taint, untrusted })),
);

/** A new session's state, unless a config starts it higher. */
export const BOTTOM: Label = Object.freeze({ taint: "public", untrusted: false });

/** Nothing of an analysis depends on how boxes are made. */
export const ANY_BOX: BoxKind = Object.freeze({ runtime: "refusing", image: null });

/** Whether `higher` is at or above `lower` in both respects. */
export function isAtLeast(higher: Label, lower: Label): boolean {
  return DATA_CLASSES.indexOf(higher.taint) >= DATA_CLASSES.indexOf(lower.taint) && (higher.untrusted || !lower.untrusted);
}

/** A session that no grant names, unless one names even this. */
export function unnamedSession(grants: readonly Grant[]): SessionId {
  const named = new Set(grants.map(({ session }) => session));
  for (let count = 0; ; count++) {
    const id = SessionId.parse(`chat-sample-${count}`);
    if (!named.has(id)) return id;
  }
}

/** A session and where it came from. */
export interface Vantage {
  readonly session: SessionId;
  readonly origin: Origin;
}

/** Each kind of session: those that grants name and one that none does, by each origin that a grant tells from another. */
export function vantagesOf(grants: readonly Grant[]): readonly Vantage[] {
  const named = grants.flatMap(({ session }) => (session === null ? [] : [session]));
  const sessions = new Set([...named, unnamedSession(grants)]);
  const limited = grants.flatMap(({ origins }) => (origins === null ? [] : [origins]));
  const byKind = Map.groupBy(Origin.options, (origin) => limited.map((origins) => origins.includes(origin)).join());
  const origins = [...byKind.values()].flatMap((same) => same.slice(0, 1));
  return [...sessions].flatMap((session) => origins.map((origin) => ({ session, origin })));
}

/** A state for policy, of which only what matters is said. */
export function stateAt(label: Label, origin: Origin, usesSpent: PolicyState["usesSpent"] = () => 0): PolicyState {
  return { label, origin, ceiling: "secret", usesSpent, pathLabels: [] };
}
