/** Two sets of grants compared by what they do, not by how they are written. */
import { isDeepStrictEqual } from "node:util";
import {
  type Label,
  millisFromTimestamp,
  type Origin,
  type RunPlan,
  type SessionId,
  type Timestamp,
  type ToolName,
  timestampFromMillis,
} from "@boxmaker/proto";
import type { Effect } from "../rules/effect.ts";
import type { Grant } from "../rules/grant.ts";
import { GrantIndex } from "../rules/grant-index.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { Judgement } from "../rules/judge.ts";
import { findMatches } from "../rules/matching.ts";
import { samplesOf } from "./call-classes.ts";
import { isAtLeast, LABELS, stateAt, type Vantage, vantagesOf } from "./circumstances.ts";
import { effectOfJudgement, judgeSituation } from "./judged.ts";
import type { SampleCall } from "./sample-calls.ts";

/** What about a call a change of grants can make wider or narrower. */
export type Aspect = "outcome" | "label" | "mounts" | "masks" | "hosts" | "host_exec" | "approvers" | "uses";

/** The two sets' effects in one state, where they differ. `time` and `spent`: from when on, and after how many spent uses of each grant. */
export interface StateChange {
  readonly state: Label;
  readonly origin: Origin;
  readonly session: SessionId;
  readonly time: Timestamp;
  readonly spent: number;
  readonly before: Effect;
  readonly after: Effect;
}

/** What changes for the calls of a tool at one target. `widened` and `narrowed` say in what respect, in some state or other. */
export interface TargetChange {
  readonly tool: ToolName;
  readonly target: string;
  readonly widened: readonly Aspect[];
  readonly narrowed: readonly Aspect[];
  /** Where the outcome differs; empty where only something else does. */
  readonly states: readonly StateChange[];
}

export interface SetDifference {
  /** Whether some call gets more than before in some state, or runs with more. */
  readonly wider: boolean;
  readonly narrower: boolean;
  readonly changes: readonly TargetChange[];
  /** How many kinds of calls were compared, and how many of them are decided alike. */
  readonly compared: number;
  readonly unchanged: number;
}

/** More than these moments or counts of uses aren't told apart: those that come first are. */
const MAX_STEPS = 6;

interface Moment {
  readonly label: Label;
  readonly vantage: Vantage;
  readonly time: Timestamp;
  readonly spent: number;
}

function firstSteps(values: readonly number[]): readonly number[] {
  return [...new Set(values)].toSorted((a, b) => a - b).slice(0, MAX_STEPS);
}

/** The grants of the sets that speak about the call: no others can make a difference to it. */
function speakingOf(sets: readonly ValidGrantSet[], { call }: SampleCall, { session, origin }: Vantage): readonly Grant[] {
  return sets.flatMap((set) => findMatches(GrantIndex.of(set.grants), call, session, origin).map(({ loaded }) => loaded.grant));
}

/** All kinds of moments of a session: its states, before and after each expiry, and before and after each count of uses. */
function momentsOf(grants: readonly Grant[], vantage: Vantage, now: Timestamp): readonly Moment[] {
  const from = millisFromTimestamp(now);
  const expiries = grants.flatMap(({ expires }) => (expires === null || expires <= from ? [] : [expires]));
  const times = [from, ...firstSteps(expiries)].map(timestampFromMillis);
  const counts = [0, ...firstSteps(grants.flatMap(({ uses }) => (uses === null ? [] : [uses])))];
  return times.flatMap((time) => counts.flatMap((spent) => LABELS.map((label) => ({ label, vantage, time, spent }))));
}

function judgeAt(set: ValidGrantSet, { call }: SampleCall, { label, vantage, time, spent }: Moment): Judgement {
  const state = stateAt(label, vantage.origin, () => spent);
  return judgeSituation({ call, session: vantage.session, set, state, now: time });
}

const isSubset = <T>(some: readonly T[], all: readonly T[]): boolean => some.every((one) => all.includes(one));

/** What of a box can be more in one plan than in another. Masked paths take something away. */
function planSizes(plan: RunPlan): Readonly<Record<"mounts" | "masks" | "hosts" | "host_exec", readonly string[]>> {
  return {
    mounts: [
      ...plan.mounts.map(({ path, writable }) => `${writable ? "w" : "r"}${path}`),
      ...plan.exposed.map((path) => `x${path}`),
    ],
    masks: plan.masked,
    hosts: plan.hosts,
    host_exec: plan.host_exec ? ["host_exec"] : [],
  };
}

/** In what respects `after` gives more than `before`. Swap them for the respects in which it gives less. */
function widenedBetween(before: Judgement, after: Judgement): readonly Aspect[] {
  const isMore = isMoreLenient(effectOfJudgement(after), effectOfJudgement(before));
  if (after.kind === "denied" || before.kind === "denied") return isMore ? ["outcome"] : [];
  const widened: Aspect[] = isMore ? ["outcome"] : [];
  // A lower label lets the session do more afterwards.
  if (!isAtLeast(after.label, before.label)) widened.push("label");
  const [old, now] = [planSizes(before.run), planSizes(after.run)];
  for (const aspect of ["mounts", "hosts", "host_exec"] as const) {
    if (!isSubset(now[aspect], old[aspect])) widened.push(aspect);
  }
  if (!isSubset(old.masks, now.masks) && isSubset(old.mounts, now.mounts)) widened.push("masks");
  if (after.mode === "ask" && before.mode === "ask" && !isSubset(after.approvers, before.approvers)) widened.push("approvers");
  if (before.uses !== null && after.uses === null) widened.push("uses");
  return widened;
}

const ORDER: readonly Effect[] = ["auto", "ask", "deny"];

function isMoreLenient(a: Effect, b: Effect): boolean {
  return ORDER.indexOf(a) < ORDER.indexOf(b);
}

/** Compares two sets over every kind of call, state, origin and session that either of them tells apart. */
export function diffSets(before: ValidGrantSet, after: ValidGrantSet, now: Timestamp): SetDifference {
  const samples = samplesOf(before, after);
  const vantages = vantagesOf([before, after].flatMap((set) => set.grants.map(({ grant }) => grant)));
  let changed = 0;
  const said = new Map<string, TargetChange>();
  const changes = samples.flatMap((sample): readonly TargetChange[] => {
    const widened = new Set<Aspect>();
    const narrowed = new Set<Aspect>();
    const states: StateChange[] = [];
    const moments = vantages.flatMap((vantage) => momentsOf(speakingOf([before, after], sample, vantage), vantage, now));
    for (const moment of moments) {
      const [old, fresh] = [judgeAt(before, sample, moment), judgeAt(after, sample, moment)];
      for (const aspect of widenedBetween(old, fresh)) widened.add(aspect);
      for (const aspect of widenedBetween(fresh, old)) narrowed.add(aspect);
      const [was, is] = [effectOfJudgement(old), effectOfJudgement(fresh)];
      if (was === is) continue;
      const { label, vantage, time, spent } = moment;
      states.push({ state: label, ...vantage, time, spent, before: was, after: is });
    }
    if (widened.size === 0 && narrowed.size === 0) return [];
    const { tool } = sample.call;
    const change = { tool, target: sample.target, widened: [...widened], narrowed: [...narrowed], states };
    changed++;
    const same = said.get(`${tool} ${sample.broader}`);
    if (same !== undefined && isDeepStrictEqual({ ...same, target: change.target }, change)) return [];
    said.set(`${tool} ${change.target}`, change);
    return [change];
  });
  return {
    wider: changes.some(({ widened }) => widened.length > 0),
    narrower: changes.some(({ narrowed }) => narrowed.length > 0),
    changes,
    compared: samples.length,
    unchanged: samples.length - changed,
  };
}
