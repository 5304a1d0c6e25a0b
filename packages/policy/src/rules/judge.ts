/** What policy finds out about one call: outcome, reason, label, plan. Nothing here can make it run; that takes the seal of decide.ts. */
import {
  type DataClass,
  type DenialReason,
  type Hash32,
  joinLabel,
  type Label,
  type MatchedGrant,
  type Mount,
  type Origin,
  type PathLabel,
  type RunPlan,
  type SessionId,
  type ToolCall,
} from "@boxmaker/proto";
import { type Effect, milder } from "./effect.ts";
import type { Approver } from "./grant.ts";
import { GrantIndex } from "./grant-index.ts";
import { OTHERWISE_GRANT, type Otherwise, TOOLS_FILE, type ValidGrantSet } from "./grant-set.ts";
import { findMatches, type Match } from "./matching.ts";
import { type Circumstances, denialOf, effectOf, effectOtherwise, outcomeOf } from "./outcome.ts";
import { labelsRead } from "./path-labels.ts";
import { planOtherwise } from "./plan-otherwise.ts";
import { type BoxKind, planRun } from "./plan-run.ts";

/** What the audit log knows that policy needs. `pathLabels` are all labelled paths; policy picks what applies. */
export interface PolicyState {
  readonly label: Label;
  readonly origin: Origin;
  readonly ceiling: DataClass;
  readonly usesSpent: (grantId: string) => number;
  readonly pathLabels: readonly PathLabel[];
}

/** A grant that speaks about the call, with what it gives it now. */
interface Weighed {
  readonly match: Match;
  readonly effect: Effect;
}

/** What a record names as the rule that a call came to its end by, and the file that says so. */
export interface Named {
  readonly grant: string;
  readonly file: string;
  readonly sha256: Hash32;
}

/** What a judgement found, whether the call may run or not. */
export interface Findings {
  readonly matched: readonly MatchedGrant[];
  readonly usesLeft: readonly { readonly grant: string; readonly left: number }[];
  readonly named: Named | undefined;
  /** Null where nothing that the owner wrote speaks about the call. */
  readonly label: Label | null;
  readonly pathLabels: readonly PathLabel[];
}

export type Judgement =
  | { readonly kind: "denied"; readonly reason: DenialReason; readonly findings: Findings }
  | {
      readonly kind: "runs";
      readonly mode: "auto" | "ask";
      readonly findings: Findings;
      readonly named: Named;
      readonly label: Label;
      readonly run: RunPlan;
      readonly approvers: readonly Approver[];
      /** The last moment at which a grant permits it, in milliseconds; null where one does for ever. */
      readonly expires: number | null;
      /** Whether a fetch may go on to another path of its host: not where a grant tells URLs of this host apart. */
      readonly followsRedirects: boolean;
      /** The grant whose use is spent when the call is let run. */
      readonly uses: string | null;
    };

/** The owner's terminal, where no approver fits all grants that speak about the call: it is the stronger proof of who answers. */
const FALLBACK_APPROVERS: readonly Approver[] = Object.freeze(["bxctl"]);

/** Who all of the grants that want an answer let give it: a restriction of one isn't lifted by another. */
function approversOf(weighed: readonly Weighed[], ruling: Anyway | undefined): readonly Approver[] {
  if (ruling !== undefined) return FALLBACK_APPROVERS;
  const asking = weighed.filter(({ match, effect }) => match.loaded.grant.mode === "ask" || effect === "ask");
  const common = (["bxctl", "gateway"] as const).filter((approver) =>
    asking.every(({ match }) => match.loaded.grant.approvers.includes(approver)),
  );
  return common.length === 0 ? FALLBACK_APPROVERS : Object.freeze(common);
}

function expiryOf(permitting: readonly Weighed[]): number | null {
  // Then it is `otherwise` that lets it run, which has no end.
  if (permitting.length === 0) return null;
  const expiries = permitting.map(({ match }) => match.loaded.grant.expires);
  return expiries.reduce((latest, expires) => (latest === null || expires === null ? null : Math.max(latest, expires)), 0);
}

/**
 * The grant that pays for the call: of those that give it the most, none if one of them is unlimited, else the first. It need not be
 * the named one, which may be an ask that only restricts; a use that isn't spent where it permits would be no limit.
 */
function spendFrom(permitting: readonly Weighed[]): string | null {
  const permission = permitting.reduce<Effect>((most, { effect }) => milder(most, effect), "deny");
  const giving = permitting.filter(({ effect }) => effect === permission).map(({ match }) => match.loaded.grant);
  if (giving.some((grant) => grant.uses === null)) return null;
  return giving[0]?.id ?? null;
}

/** What `tools.toml` says of a call, with the box that it would get. */
interface Anyway {
  readonly otherwise: Otherwise;
  readonly run: RunPlan;
}

/** Undefined where it says nothing, where a grant switches it off, or where the call needs a place that no grant could name. */
function findAnyway(
  call: ToolCall,
  set: ValidGrantSet,
  matches: readonly Match[],
  index: GrantIndex,
  box: BoxKind,
): Anyway | undefined {
  const otherwise = set.otherwise?.get(call.tool);
  if (otherwise === undefined || matches.some(({ loaded }) => loaded.grant.ifUntrusted === "deny")) return undefined;
  const run = planOtherwise(call, otherwise, index, box);
  return run === undefined ? undefined : { otherwise, run };
}

function ofGrant({ loaded }: Match): Named {
  return { grant: loaded.grant.id, file: loaded.file, sha256: loaded.sha256 };
}

function nameOf(ruling: Anyway | undefined): Named | undefined {
  return ruling === undefined ? undefined : { grant: OTHERWISE_GRANT, file: TOOLS_FILE, sha256: ruling.otherwise.sha256 };
}

/** Judges a call whose arguments have been parsed, by a valid set of grants. `now` is in milliseconds. */
export function judge(
  call: ToolCall,
  session: SessionId,
  set: ValidGrantSet,
  state: PolicyState,
  now: number,
  box: BoxKind,
): Judgement {
  const circumstances: Circumstances = { label: state.label, ceiling: state.ceiling, now, usesSpent: state.usesSpent };
  const index = GrantIndex.of(set.grants);
  const matches = findMatches(index, call, session, state.origin);
  const weighed = matches.map((match) => ({ match, effect: effectOf(match.loaded.grant, circumstances) }));
  const permitting = weighed.filter(({ match, effect }) => match.loaded.grant.mode !== "deny" && effect !== "deny");
  // It is never more lenient than a grant that permits.
  const anyway = permitting.length === 0 ? findAnyway(call, set, matches, index, box) : undefined;
  const otherwise = anyway?.otherwise;
  // Beside grants it says what the call's results are only where they come its way.
  const ruling = matches.length === 0 || effectOtherwise(otherwise, circumstances) !== "deny" ? anyway : undefined;
  const [first] = matches;
  const named = first === undefined ? nameOf(ruling) : ofGrant(first);
  const run = ruling?.run ?? (first === undefined ? undefined : planByGrants(call, first, permitting, index, box));
  if (named === undefined || run === undefined) return { kind: "denied", reason: "no_grant", findings: NOTHING_FOUND };

  const pathLabels = labelsRead(call, [...run.mounts, ...mountedInSomeState(matches)], state.pathLabels, set.labels ?? []);
  const grants = matches.map(({ loaded }) => loaded.grant);
  const rules = ruling === undefined ? grants : [...grants, ruling.otherwise];
  const ofRules = rules.map((rule): Label => ({ taint: rule.label, untrusted: rule.untrusted }));
  const label = [...ofRules, ...pathLabels.map((entry) => entry.label)].reduce(joinLabel, BOTTOM);

  const findings: Findings = {
    matched: weighed.map(({ match: { loaded }, effect }) => ({ grant: loaded.grant.id, sha256: loaded.sha256, effect })),
    usesLeft: grants.flatMap(({ id, uses }) =>
      uses === null ? [] : [{ grant: id, left: Math.max(0, uses - state.usesSpent(id)) }],
    ),
    named,
    label,
    pathLabels,
  };
  const reason = denialOf(grants, otherwise, circumstances, label.taint);
  if (reason !== undefined) return { kind: "denied", reason, findings };
  const mode = outcomeOf(grants, otherwise, circumstances) === "auto" ? "auto" : "ask";
  return {
    kind: "runs",
    mode,
    findings,
    named,
    label,
    run,
    approvers: approversOf(weighed, ruling),
    expires: expiryOf(permitting),
    followsRedirects: call.tool === "http_fetch" && index.candidates(call).every(({ grant }) => grant.args.size === 0),
    uses: spendFrom(permitting),
  };
}

/**
 * What a box might hold if more were permitted. Its labels count whatever is permitted now: a higher state that mounts less would get
 * a lower label by it, and could do for its audience what a lower state may not.
 */
function mountedInSomeState(matches: readonly Match[]): readonly Mount[] {
  const paths = matches.flatMap(({ loaded: { grant } }) => (grant.mode === "deny" ? [] : grant.paths));
  return [...new Set(paths)].map((path) => ({ path, writable: true }));
}

/** A call that is denied has a plan too, because its label decides whether the audience is the reason. */
function planByGrants(call: ToolCall, named: Match, permitting: readonly Weighed[], index: GrantIndex, box: BoxKind): RunPlan {
  const planned = permitting.length === 0 ? [named] : permitting.map(({ match }) => match);
  return planRun(call, named, planned, index, box);
}

const BOTTOM: Label = Object.freeze({ taint: "public", untrusted: false });

/** The findings about a call that no grant speaks about, or that wasn't looked at. */
export const NOTHING_FOUND: Findings = { matched: [], usesLeft: [], named: undefined, label: null, pathLabels: [] };
