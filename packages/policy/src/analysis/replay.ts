/** The audit log decided again: from its own inputs, which must give its own outcomes (T6), or under other grants. */
import {
  type AbsPath,
  type ApprovalAuditEvent,
  type AuditRecord,
  type AuditSeq,
  type CallId,
  canonicalJson,
  type DecisionEvent,
  type DenialReason,
  type Hash32,
  type Label,
  type MatchedGrant,
  millisFromTimestamp,
  type SessionId,
  type Timestamp,
} from "@boxmaker/proto";
import { type DecisionRecord, decide, POLICY_VERSION, redecide, type Verdict } from "../rules/decide.ts";
import type { GrantSet, ValidGrantSet } from "../rules/grant-set.ts";
import type { PolicyState } from "../rules/judge.ts";
import { ANY_BOX } from "./circumstances.ts";
import type { Situation } from "./judged.ts";
import { type ListedFile, LogFold, type PastRaise } from "./log-fold.ts";
import { argumentsTextOf, recordedCall, type TextOf, targetOf } from "./recorded-call.ts";

/** Where the texts come from that a log names by hash. */
export interface LogSources {
  /** Long arguments. */
  readonly textOf: TextOf;
  /**
   * The set that these files made, as it was checked then, when no grant could name a `reserved` place; `undefined` where a text is
   * missing. Called once for each set.
   */
  readonly setOf: (files: readonly ListedFile[], reserved: readonly AbsPath[]) => GrantSet | undefined;
}

/** What one decision came to. */
export interface PastOutcome {
  readonly outcome: DecisionEvent["outcome"];
  readonly reason: DenialReason | null;
  readonly grant: string | null;
}

/** A decision that comes out differently. `fields` are those of its record that differ. */
export interface ChangedDecision {
  readonly seq: AuditSeq;
  readonly session: SessionId;
  readonly call: CallId;
  readonly tool: string;
  readonly target: string;
  readonly before: PastOutcome;
  readonly after: PastOutcome;
  readonly fields: readonly string[];
  /** Whether the call gets more than it got. */
  readonly wider: boolean;
}

/** A decision that wasn't taken again, and why: not policy's own, of another version of policy, or with a text missing. */
export interface SkippedDecision {
  readonly seq: AuditSeq;
  readonly why: "not_policy" | "policy_version" | "text_missing" | "session_unknown";
}

export interface Replay {
  readonly decided: number;
  readonly same: number;
  readonly changed: readonly ChangedDecision[];
  readonly skipped: readonly SkippedDecision[];
}

export interface ReplayOptions {
  /** Decide by these grants; by those that were in force where it's left out. */
  readonly with?: ValidGrantSet;
  /** Leave out decisions before this time. */
  readonly since?: Timestamp;
}

/** Denials that aren't a matter of grants: the box was stopping, short of space, asked too much, or without a sandbox for it. */
const NOT_POLICY: ReadonlySet<DenialReason> = new Set([
  "audit_unavailable",
  "low_space",
  "throttled",
  "no_sandbox",
  "requester_gone",
  "shutting_down",
  "grants_invalid",
]);

/** The set as it would have been where these places were reserved beside those that it knows of. */
function reserving(set: ValidGrantSet, reserved: readonly AbsPath[]): ValidGrantSet {
  const otherwise = [...(set.otherwise ?? [])].map(
    ([tool, rule]) => [tool, { ...rule, reserved: [...rule.reserved, ...reserved] }] as const,
  );
  return { ...set, otherwise: new Map(otherwise) };
}

/** Sets by the files that make them up and the places that were reserved. */
class Sets {
  readonly #sources: LogSources;
  readonly #known = new Map<string, ValidGrantSet | undefined>();

  constructor(sources: LogSources) {
    this.#sources = sources;
  }

  /** The set in force for a session. */
  of(fold: LogFold, session: SessionId): ValidGrantSet | undefined {
    const files = fold.filesFor(session);
    const { reserved } = fold;
    return this.#once(canonicalJson([files.map(({ file, sha256 }) => ({ file, sha256 })), reserved]), () => {
      const set = this.#sources.setOf(files, reserved);
      return set?.kind === "valid" ? set : undefined;
    });
  }

  /** Another set, of which there is one, in place of it. */
  other(set: ValidGrantSet, { reserved }: LogFold): ValidGrantSet | undefined {
    return this.#once(canonicalJson(reserved), () => reserving(set, reserved));
  }

  #once(key: string, make: () => ValidGrantSet | undefined): ValidGrantSet | undefined {
    if (!this.#known.has(key)) this.#known.set(key, make());
    return this.#known.get(key);
  }
}

/** The re-decision at an approval. */
interface PastAnswer extends Pick<ApprovalAuditEvent, "denial" | "grant" | "raises" | "spends" | "run" | "digest"> {
  readonly outcome: DecisionEvent["outcome"];
  readonly now: Timestamp;
  readonly before: Label;
}

/** One decision with what it was taken from. Where it is that at an approval, `event` is the one that asked. */
interface PastDecision {
  readonly record: AuditRecord;
  readonly event: DecisionEvent;
  readonly approval?: PastAnswer;
  readonly fold: LogFold;
}

/** Uses as the record has them: what it doesn't list had no bearing. */
function recordedUses({ uses_left }: DecisionEvent, { grants }: ValidGrantSet): PolicyState["usesSpent"] {
  const left = new Map(uses_left.map((entry) => [entry.grant, entry.left]));
  const uses = new Map(grants.map(({ grant }) => [grant.id, grant.uses]));
  return (id) => Math.max(0, (uses.get(id) ?? 0) - (left.get(id) ?? 0));
}

/** By the record's own inputs, or, where other grants are tried, by what the log knew at that moment of whatever they name. */
function stateOf({ event, approval, fold }: PastDecision, set: ValidGrantSet, isOther: boolean): PolicyState | undefined {
  const session = fold.session(event.session);
  if (session === undefined) return undefined;
  const { origin, ceiling } = session;
  // Uses and labels may have changed since the call was asked about: the records between say how.
  if (approval !== undefined) {
    return { label: approval.before, origin, ceiling, usesSpent: (id) => fold.usesSpent(id), pathLabels: fold.pathLabels };
  }
  return {
    label: event.before,
    origin,
    ceiling,
    usesSpent: isOther ? (id) => fold.usesSpent(id) : recordedUses(event, set),
    pathLabels: isOther ? fold.pathLabels : event.path_labels,
  };
}

type Retaken =
  | { readonly kind: "decided"; readonly verdict: Verdict; readonly digest: Hash32 | null }
  | { readonly kind: "skipped"; readonly why: SkippedDecision["why"] };

function decideAgain(past: PastDecision, sets: Sets, sources: LogSources, other: ValidGrantSet | undefined): Retaken {
  const { event, approval, fold } = past;
  const reason = approval === undefined ? event.reason : approval.denial;
  if (reason !== null && NOT_POLICY.has(reason)) return { kind: "skipped", why: "not_policy" };
  if (other === undefined && event.policy_version !== POLICY_VERSION) return { kind: "skipped", why: "policy_version" };
  const text = argumentsTextOf(event, sources.textOf);
  const set = other === undefined ? sets.of(fold, event.session) : sets.other(other, fold);
  if (text === undefined || set === undefined) return { kind: "skipped", why: "text_missing" };
  const state = stateOf(past, set, other !== undefined);
  if (state === undefined) return { kind: "skipped", why: "session_unknown" };
  const { session, call, tool } = event;
  const now = approval?.now ?? event.now;
  const run = approval?.run ?? event.run;
  const box = run === null ? ANY_BOX : { runtime: run.runtime, image: run.image };
  const verdict = decide({ session, call, tool, argumentsText: text }, set, state, now, box);
  if (approval === undefined || verdict.kind !== "ask") return { kind: "decided", verdict, digest: null };
  const approved = redecide(verdict.ask, set, state, now, box);
  return { kind: "decided", verdict: approved.kind === "changed" ? verdict : approved, digest: verdict.ask.digest };
}

function sortedMatches(matched: readonly MatchedGrant[]): readonly MatchedGrant[] {
  return matched.toSorted((a, b) => (a.grant < b.grant ? -1 : 1));
}

/** The parts of a record that a decision made, in a form that can be compared. */
function partsOf(record: Omit<DecisionRecord, "arguments">, spends: string | null): Readonly<Record<string, unknown>> {
  const { outcome, reason, grant, grant_sha256, label, raises, run } = record;
  return { outcome, reason, grant, grant_sha256, label, raises, spends, run, matched: sortedMatches(record.matched) };
}

function differingFields(event: DecisionEvent, verdict: Verdict): readonly string[] {
  const before = partsOf(event, event.spends);
  const after = partsOf(verdict.record, verdict.kind === "allowed" ? verdict.uses : null);
  return Object.keys(before).filter((key) => canonicalJson(before[key]) !== canonicalJson(after[key]));
}

function answerOf({ outcome, denial, grant }: PastAnswer): PastOutcome {
  return { outcome, reason: denial, grant };
}

/** The parts of an approval's record that its re-decision made and that differ. What ran as an ask is what was approved, by its digest. */
function differingAnswer(answer: PastAnswer, { verdict, digest }: Extract<Retaken, { kind: "decided" }>): readonly string[] {
  const { outcome, reason, grant, raises, run } = verdict.record;
  const spends = verdict.kind === "allowed" ? verdict.uses : null;
  const after = { outcome, reason, grant, raises, run, spends, digest: digest ?? answer.digest };
  const before = { ...answer, reason: answer.denial };
  const keys = ["outcome", "reason", "grant", "raises", "run", "spends", "digest"] as const;
  return keys.filter((key) => canonicalJson(before[key]) !== canonicalJson(after[key]));
}

/** Under other grants, hashes and names of grants are bound to differ: what counts is what the call gets. */
const EFFECTS: readonly string[] = ["outcome", "reason", "label", "raises", "run"];

/** The more, the more a call gets. */
export const LENIENCE = { denied: 0, ask: 1, allowed: 2 } as const;

function outcomeOf({ outcome, reason, grant }: Pick<DecisionEvent, "outcome" | "reason" | "grant">): PastOutcome {
  return { outcome, reason, grant };
}

/** An approval with its re-decision; `undefined` for every other end of an ask. */
function decidedAnswer({ outcome, now, before, ...rest }: ApprovalAuditEvent): PastAnswer | undefined {
  if (outcome === null || outcome === "changed" || now === null || before === null) return undefined;
  return { ...rest, outcome, now, before };
}

/** Each decision of the log with the fold up to it, in order. */
function* pastDecisions(records: Iterable<AuditRecord>, since: Timestamp | undefined): Generator<PastDecision> {
  const fold = new LogFold();
  const from = since === undefined ? 0 : millisFromTimestamp(since);
  for (const record of records) {
    const { event } = record;
    if (millisFromTimestamp(record.time) >= from) {
      if (event.kind === "decision") yield { record, event, fold };
      const approval = event.kind === "approval" ? decidedAnswer(event) : undefined;
      const ask = event.kind === "approval" ? fold.askOf(event.decision) : undefined;
      if (approval !== undefined && ask !== undefined) yield { record, event: ask, approval, fold };
    }
    fold.apply(record);
  }
}

/** What each decision of the log comes to by these grants, by its seq: those that could be taken again. */
export function outcomesWith(
  records: Iterable<AuditRecord>,
  sources: LogSources,
  set: ValidGrantSet,
): ReadonlyMap<AuditSeq, PastOutcome> {
  const sets = new Sets(sources);
  const outcomes = new Map<AuditSeq, PastOutcome>();
  for (const past of pastDecisions(records, undefined)) {
    if (past.approval !== undefined) continue;
    const again = decideAgain(past, sets, sources, set);
    if (again.kind === "decided") outcomes.set(past.record.seq, outcomeOf(again.verdict.record));
  }
  return outcomes;
}

/**
 * Takes every decision of the log again; and by the grants of then, what each approval came to. Records must be all of the log from its
 * start, in order: earlier ones say what held later.
 */
export function replay(records: Iterable<AuditRecord>, sources: LogSources, options: ReplayOptions = {}): Replay {
  const sets = new Sets(sources);
  const changed: ChangedDecision[] = [];
  const skipped: SkippedDecision[] = [];
  let decided = 0;
  for (const past of pastDecisions(records, options.since)) {
    const { record, event } = past;
    const { seq } = record;
    if (past.approval !== undefined && options.with !== undefined) continue;
    const again = decideAgain(past, sets, sources, options.with);
    if (again.kind === "skipped") {
      skipped.push({ seq, why: again.why });
      continue;
    }
    decided++;
    const differing = past.approval === undefined ? differingFields(event, again.verdict) : differingAnswer(past.approval, again);
    const fields = options.with === undefined ? differing : differing.filter((field) => EFFECTS.includes(field));
    if (fields.length === 0) continue;
    const { session, call, tool } = event;
    const after = outcomeOf(again.verdict.record);
    const before = past.approval === undefined ? outcomeOf(event) : answerOf(past.approval);
    const wider = LENIENCE[after.outcome] > LENIENCE[before.outcome];
    changed.push({ seq, session, call, tool, target: targetOf(event), before, after, fields, wider });
  }
  return { decided, same: decided - changed.length, changed, skipped };
}

/** One decision of the past with everything that it was taken from. `situation` is null where its arguments can't be read any more. */
export interface RecordedDecision {
  readonly record: AuditRecord;
  readonly event: DecisionEvent;
  readonly situation: Situation | null;
  /** The calls that had raised the session's state by then. */
  readonly raisedBy: readonly PastRaise[];
  /** The files in force for its session. */
  readonly files: readonly ListedFile[];
}

/** Finds the decision with this seq; `undefined` where the log has none. Its situation can be explained like one of today. */
export function decisionAt(records: Iterable<AuditRecord>, sources: LogSources, seq: AuditSeq): RecordedDecision | undefined {
  const sets = new Sets(sources);
  for (const past of pastDecisions(records, undefined)) {
    const { record, event, fold } = past;
    if (record.seq !== seq || past.approval !== undefined) continue;
    const call = recordedCall(event, sources.textOf);
    const set = sets.of(fold, event.session);
    const state = set === undefined ? undefined : stateOf(past, set, false);
    const { session, now } = event;
    const situation = call === undefined || set === undefined || state === undefined ? null : { call, session, set, state, now };
    return { record, event, situation, raisedBy: fold.session(session)?.raisedBy ?? [], files: fold.filesFor(session) };
  }
  return undefined;
}
