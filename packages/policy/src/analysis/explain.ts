/** Why one call gets what it gets: each rule that speaks about it, the field and line that decided, and what would let it pass. */
import { readToml, type TomlPath } from "@boxmaker/edge/toml";
import {
  type DataClass,
  type DenialReason,
  type Hash32,
  isAbove,
  joinLabel,
  type Label,
  millisFromTimestamp,
  Origin,
  type PathLabel,
  unreachable,
} from "@boxmaker/proto";
import { type Effect, stricter } from "../rules/effect.ts";
import type { Approver, Grant, LoadedGrant } from "../rules/grant.ts";
import { GrantIndex } from "../rules/grant-index.ts";
import type { Judgement } from "../rules/judge.ts";
import { findMatches } from "../rules/matching.ts";
import { areUsesSpent, type Circumstances, effectOf, hasExpired } from "../rules/outcome.ts";
import { planOtherwise } from "../rules/plan-otherwise.ts";
import { ANY_BOX, BOTTOM, isAtLeast, LABELS } from "./circumstances.ts";
import { effectOfJudgement, judgeInstead, judgeSituation, type Outcome, outcomeOfEffect, type Situation } from "./judged.ts";
import { firstMisfit, type Misfit } from "./misfit.ts";

/** Where a grant stands. `line` (from 1) is that of the field that matters, of the grant's id where the file leaves the field out. */
export interface GrantPlace {
  readonly grant: string;
  readonly file: string;
  readonly line: number;
  readonly sha256: Hash32;
}

/** The field of a grant that its effect comes from. */
export type Because = "mode" | "if_untrusted" | "max_taint" | "uses" | "expires";

/** A grant that speaks about the call. `isDefault`: the file leaves that field out, so its tool's default holds. */
export interface MatchedExplanation extends GrantPlace {
  readonly mode: Effect;
  readonly effect: Effect;
  readonly because: Because;
  readonly isDefault: boolean;
}

/** A grant of the tool that doesn't speak about the call, and the first thing about it that doesn't fit. */
export interface UnmatchedExplanation extends GrantPlace {
  readonly fails: Misfit["fails"];
  /** Which argument's predicate, where `fails` is `args`. */
  readonly argument: string | null;
}

/** What the tool gets where no grant permits. `grant`: one that says `if_untrusted = "deny"` and so switches it off. */
export interface OtherwiseExplanation {
  readonly effect: Effect;
  readonly because: "otherwise" | "if_untrusted" | "max_taint" | "grant";
  readonly grant: string | null;
}

/** One thing that would get the call more than it gets now, by itself. */
export type Remedy = { readonly gives: Exclude<Outcome, "denied"> } & (
  | { readonly kind: "approval"; readonly approvers: readonly Approver[] }
  | { readonly kind: "new_session" }
  | { readonly kind: "state"; readonly state: Label }
  | { readonly kind: "origin"; readonly origin: Origin }
  | { readonly kind: "ceiling"; readonly ceiling: DataClass }
  | { readonly kind: "more_uses"; readonly grant: string }
  | { readonly kind: "later_expiry"; readonly grant: string }
  | { readonly kind: "remove_restriction"; readonly grant: string }
);

export interface CallExplanation {
  readonly outcome: Outcome;
  readonly reason: DenialReason | null;
  /** The grant that the record would name. */
  readonly grant: string | null;
  /** The label of the results; null where nothing speaks about the call. */
  readonly label: Label | null;
  readonly before: Label;
  /** The session's state once the call has been let run; null where it's denied. */
  readonly after: Label | null;
  /** Labels of paths that the call would read. */
  readonly pathLabels: readonly PathLabel[];
  /** Who may approve it; empty unless it asks. */
  readonly approvers: readonly Approver[];
  readonly matched: readonly MatchedExplanation[];
  readonly unmatched: readonly UnmatchedExplanation[];
  readonly otherwise: OtherwiseExplanation | null;
  /** What would let it pass. Empty where only another grant would. */
  readonly wouldPass: readonly Remedy[];
}

function hasKey(value: unknown, key: string): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key);
}

/** Where the field at `path` stands in the grant's file; a field that is left out stands where the id does. */
export function placeOf(loaded: LoadedGrant, path: TomlPath): GrantPlace & { readonly isDefault: boolean } {
  const { grant, file, sha256, text } = loaded;
  const reading = readToml(text);
  const [key] = path;
  const isThere = reading.kind === "value" && key !== undefined && hasKey(reading.value, String(key));
  const line = reading.kind === "value" ? reading.lineOf(isThere ? path : ["id"]) : 1;
  return { grant: grant.id, file, line, sha256, isDefault: !isThere };
}

/** Which field gave the grant its effect: the first of those that take a permission away, else the stricter of the other two. */
function becauseOf(grant: Grant, circumstances: Circumstances): Because {
  if (grant.mode === "deny") return "mode";
  if (hasExpired(grant, circumstances)) return "expires";
  if (areUsesSpent(grant, circumstances)) return "uses";
  if (isAbove(circumstances.label.taint, grant.maxTaint)) return "max_taint";
  const isRaised = circumstances.label.untrusted && stricter(grant.mode, grant.ifUntrusted) !== grant.mode;
  return isRaised ? "if_untrusted" : "mode";
}

function explainMatched(loaded: LoadedGrant, circumstances: Circumstances): MatchedExplanation {
  const because = becauseOf(loaded.grant, circumstances);
  const { mode } = loaded.grant;
  return { ...placeOf(loaded, [because]), mode, effect: effectOf(loaded.grant, circumstances), because };
}

function pathOfMisfit({ fails, argument }: Misfit): TomlPath {
  switch (fails) {
    case "session":
    case "origins":
      return [fails];
    case "paths":
    case "hosts":
      return ["constraints", fails];
    case "args":
      return ["constraints", "args", argument ?? ""];
    default:
      return unreachable(fails);
  }
}

function explainUnmatched(loaded: LoadedGrant, { call, session, state }: Situation): readonly UnmatchedExplanation[] {
  const misfit = firstMisfit(loaded.grant, call, session, state.origin);
  if (misfit === undefined) return [];
  const { isDefault: _, ...place } = placeOf(loaded, pathOfMisfit(misfit));
  return [{ ...place, fails: misfit.fails, argument: misfit.argument }];
}

/** Null where `tools.toml` says nothing of the call, or it needs a place that no grant could name: then it's decided as if nothing were said. */
function explainOtherwise({ call, set, state: { label } }: Situation, grants: readonly Grant[]): OtherwiseExplanation | null {
  const otherwise = set.otherwise?.get(call.tool);
  if (otherwise === undefined) return null;
  if (planOtherwise(call, otherwise, GrantIndex.of(set.grants), ANY_BOX) === undefined) return null;
  const off = grants.find(({ ifUntrusted }) => ifUntrusted === "deny");
  if (off !== undefined) return { effect: "deny", because: "grant", grant: off.id };
  if (isAbove(label.taint, otherwise.maxTaint)) return { effect: "deny", because: "max_taint", grant: null };
  const effect = label.untrusted ? stricter(otherwise.effect, otherwise.ifUntrusted) : otherwise.effect;
  return { effect, because: effect === otherwise.effect ? "otherwise" : "if_untrusted", grant: null };
}

const LENIENCE: Readonly<Record<Effect, number>> = { deny: 0, ask: 1, auto: 2 };

/** States other than the session's that give more, without those that lie below another such. */
function betterStates(situation: Situation, isBetter: (judgement: Judgement) => boolean): readonly Label[] {
  const better = LABELS.filter((label) => isBetter(judgeInstead(situation, { label })));
  return better.filter((label) => !better.some((other) => other !== label && isAtLeast(other, label)));
}

/** Everything that would do by itself. */
function remediesOf(situation: Situation, judgement: Judgement, matches: readonly LoadedGrant[]): readonly Remedy[] {
  const now = effectOfJudgement(judgement);
  const remedies: Remedy[] = [];
  if (judgement.kind === "runs" && judgement.mode === "ask") {
    remedies.push({ kind: "approval", approvers: judgement.approvers, gives: "allowed" });
  }
  const isBetter = (other: Judgement): boolean => LENIENCE[effectOfJudgement(other)] > LENIENCE[now];
  const consider = (other: Judgement, remedy: (gives: Exclude<Outcome, "denied">) => Remedy): void => {
    const gives = outcomeOfEffect(effectOfJudgement(other));
    if (gives !== "denied" && isBetter(other)) remedies.push(remedy(gives));
  };
  consider(judgeInstead(situation, { label: BOTTOM }), (gives) => ({ kind: "new_session", gives }));
  for (const label of betterStates(situation, isBetter)) {
    consider(judgeInstead(situation, { label }), (gives) => ({ kind: "state", state: label, gives }));
  }
  for (const origin of Origin.options.filter((each) => each !== situation.state.origin)) {
    consider(judgeInstead(situation, { origin }), (gives) => ({ kind: "origin", origin, gives }));
  }
  const ceiling = judgement.findings.label?.taint ?? situation.state.ceiling;
  consider(judgeInstead(situation, { ceiling }), (gives) => ({ kind: "ceiling", ceiling, gives }));
  const { usesSpent } = situation.state;
  for (const loaded of matches) {
    const { id, mode, expires } = loaded.grant;
    const others = situation.set.grants.filter((each) => each !== loaded);
    const refreshed = (id_: string): number => (id_ === id ? 0 : usesSpent(id_));
    consider(judgeInstead(situation, { usesSpent: refreshed }), (gives) => ({ kind: "more_uses", grant: id, gives }));
    if (expires !== null) {
      const lasting = { ...loaded, grant: { ...loaded.grant, expires: null } };
      const set = { ...situation.set, grants: [...others, lasting] };
      consider(judgeInstead(situation, { set }), (gives) => ({ kind: "later_expiry", grant: id, gives }));
    }
    if (mode !== "auto") {
      const set = { ...situation.set, grants: others };
      consider(judgeInstead(situation, { set }), (gives) => ({ kind: "remove_restriction", grant: id, gives }));
    }
  }
  return remedies;
}

/** Explains what becomes of the call. It is decided by the same code as a real one, and nothing is recorded or spent. */
export function explain(situation: Situation): CallExplanation {
  const { call, session, set, state, now } = situation;
  const judgement = judgeSituation(situation);
  const circumstances: Circumstances = { ...state, now: millisFromTimestamp(now) };
  const matches = findMatches(GrantIndex.of(set.grants), call, session, state.origin).map(({ loaded }) => loaded);
  const { findings } = judgement;
  return {
    outcome: outcomeOfEffect(effectOfJudgement(judgement)),
    reason: judgement.kind === "denied" ? judgement.reason : null,
    grant: findings.named?.grant ?? null,
    label: findings.label,
    before: state.label,
    after: judgement.kind === "runs" ? joinLabel(state.label, judgement.label) : null,
    pathLabels: findings.pathLabels,
    approvers: judgement.kind === "runs" && judgement.mode === "ask" ? judgement.approvers : [],
    matched: matches.map((loaded) => explainMatched(loaded, circumstances)),
    unmatched: set.grants
      .filter((loaded) => loaded.grant.tool === call.tool && !matches.includes(loaded))
      .flatMap((loaded) => explainUnmatched(loaded, situation)),
    otherwise: explainOtherwise(
      situation,
      matches.map(({ grant }) => grant),
    ),
    wouldPass: remediesOf(situation, judgement, matches),
  };
}
