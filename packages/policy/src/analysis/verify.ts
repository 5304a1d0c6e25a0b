/** Holds the theorems of policy against the owner's own grants: in every state, for every kind of call. */
import type { Label, Timestamp } from "@boxmaker/proto";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { type CallClass, classify, matchedSamples } from "./call-classes.ts";
import type { Checked } from "./checked.ts";
import { type Flow, findFlows, type SinkUse, sinkUses } from "./flows.ts";
import { checkLaundering } from "./laundering.ts";
import { checkApprovals } from "./loose-approval.ts";
import { checkConfidentiality, checkIntegrity, checkMonotone, columnsOf, STATE_COUNT } from "./state-theorems.ts";
import { areSuppliesCut } from "./supplies.ts";
import { type Reached, type Step, walk } from "./walk.ts";

export type TheoremId = "T1" | "T2" | "T3" | "T4" | "T5";

/** Where a theorem fails: the call, its state, and a shortest way of a new session to that state; null where none leads there. */
export interface Failure {
  readonly problem: string;
  readonly tool: string;
  readonly target: string;
  readonly state: Label;
  readonly trace: readonly Step[] | null;
}

export interface Theorem {
  readonly id: TheoremId;
  readonly statement: string;
  /** How many cases were looked at: all there are, or those up to the one that fails. */
  readonly checked: number;
  readonly failure: Failure | null;
}

/** What was looked at. `limits` says in words what was not. */
export interface Coverage {
  readonly grants: number;
  /** Kinds of calls. */
  readonly classes: number;
  /** States of a session. */
  readonly states: number;
  /** States that a new session can come to, with the uses spent on the way told apart. */
  readonly reachable: number;
  /** Kinds of sessions: by origin, and by name where a grant names one. */
  readonly sessions: number;
  readonly limits: readonly string[];
}

export interface Verification {
  /** Whether every theorem does. Flows are facts for the owner to judge: they break no theorem. */
  readonly holds: boolean;
  readonly theorems: readonly Theorem[];
  readonly flows: readonly Flow[];
  readonly covered: Coverage;
}

const STATEMENTS: Readonly<Record<TheoremId, string>> = {
  T1: "more taint or untrusted never gives a call more, nor does a deny; an ask lets nothing run unapproved",
  T2: "nothing runs above the highest max_taint of what speaks about it, no sink unapproved above that of an auto grant",
  T3: "once untrusted, no sink runs unapproved but by a grant that says if_untrusted = auto, and of its uses",
  T4: "an approval is of one effect: in another state or by other grants it counts for nothing",
  T5: "what a box reads from a path is labelled at least as high as any session whose box could have written it",
};

interface Walked {
  readonly reached: readonly Reached[];
  readonly uses: readonly SinkUse[];
  readonly isCut: boolean;
}

/** A way of a session of this kind to the state, the shortest of those that were found. */
function traceTo(walked: readonly Walked[], at: CallClass, label: Label): readonly Step[] | null {
  const ways = walked
    .flatMap(({ reached }) => reached)
    .filter(({ vantage }) => vantage === at.vantage)
    .filter((way) => way.label.taint === label.taint && way.label.untrusted === label.untrusted)
    .toSorted((a, b) => a.trace.length - b.trace.length);
  return ways[0]?.trace ?? null;
}

function theoremOf(id: TheoremId, { checked, failed }: Checked, walked: readonly Walked[]): Theorem {
  const statement = STATEMENTS[id];
  if (failed === undefined) return { id, statement, checked, failure: null };
  const { problem, at, label } = failed;
  const trace = traceTo(walked, at, label);
  return { id, statement, checked, failure: { problem, tool: at.call.tool, target: at.target, state: label, trace } };
}

function limitsOf(classes: readonly CallClass[], walked: readonly Walked[]): readonly string[] {
  const limits: string[] = [];
  if (classes.some(({ matches }) => areSuppliesCut(matches.map(({ grant }) => grant)))) {
    limits.push("where many grants with uses or expiries speak about one call, not every combination of them was looked at");
  }
  if (walked.some(({ isCut }) => isCut))
    limits.push("of the ways to a state that spend different uses, only the first were followed");
  return limits;
}

/**
 * Proves T1 to T5 for these grants, or says where one fails: for every kind of call, in every state, however uses and expiries stand,
 * from `now` on. Asks the rules that decide, not a model of them.
 */
export function verify(set: ValidGrantSet, now: Timestamp): Verification {
  const samples = matchedSamples(set);
  const { all: classes, of: classesOf } = classify(set, samples);
  const vantages = [...new Set(samples.map(({ vantage }) => vantage))];
  const walked = vantages.map((vantage): Walked => {
    const own = classesOf(vantage);
    const { reached, isCut } = walk(set, own, vantage, now);
    return { reached, isCut, uses: sinkUses(set, own, reached, now) };
  });
  const columns = columnsOf(set, classes, now);
  const theorems = [
    theoremOf("T1", checkMonotone(set, columns), walked),
    theoremOf("T2", checkConfidentiality(set, columns), walked),
    theoremOf("T3", checkIntegrity(columns), walked),
    theoremOf("T4", checkApprovals(set, classes, now), walked),
    theoremOf("T5", checkLaundering(set, samples, classes, now), walked),
  ];
  return {
    holds: theorems.every(({ failure }) => failure === null),
    theorems,
    flows: findFlows(walked.flatMap(({ uses }) => uses)),
    covered: {
      grants: set.grants.length,
      classes: classes.length,
      states: STATE_COUNT,
      reachable: walked.reduce((sum, { reached }) => sum + reached.length, 0),
      sessions: vantages.length,
      limits: limitsOf(classes, walked),
    },
  };
}
