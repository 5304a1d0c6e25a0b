/**
 * What the audit log says about sessions, paths and uses: a fold over its records. The same function is used for the records of an
 * earlier life and for each new one, so a restart can't come to another state.
 */
import { ALL_USES, WORST, writtenBy } from "@boxmaker/policy";
import {
  type AbsPath,
  type AuditEvent,
  type AuditRecord,
  type AuditSeq,
  type CallId,
  type DataClass,
  type DecisionEvent,
  type Hash32,
  holdsPath,
  joinLabel,
  type Label,
  millisFromTimestamp,
  type Origin,
  type PathLabel,
  type RewindPoint,
  type SessionId,
  unreachable,
} from "@boxmaker/proto";

/** One call that raised a session's state. */
export interface Raise {
  readonly decision: AuditSeq;
  readonly call: CallId;
  readonly tool: string;
  readonly after: Label;
}

/** What a session had seen by then at the least: the join over its calls up to `call`. */
export interface Step {
  readonly call: CallId;
  readonly label: Label;
}

/**
 * Which call numbers a session has used: all up to `highest` but those in `missed`, which may still come from a requester that sends
 * several at once. Numbers further back are taken for used.
 */
export interface UsedCalls {
  /** Null where it has used none. */
  readonly highest: CallId | null;
  readonly missed: readonly number[];
}

/** A session as the log has it. */
export interface SessionState {
  readonly origin: Origin;
  readonly ceiling: DataClass;
  readonly label: Label;
  /** Where it was cut off, if it is a rewound one. */
  readonly from: RewindPoint | null;
  readonly raisedBy: readonly Raise[];
  /** The state before any call. */
  readonly start: Label;
  /** In rising order of calls and of labels; only calls that raise what the calls before them have: a handful at most. */
  readonly steps: readonly Step[];
  /** The record of the last session that was rewound from this one: what waited before it waits no more. */
  readonly rewoundAt: AuditSeq | null;
  readonly calls: UsedCalls;
}

/** A grant of `allow` that is in force. */
export interface SessionGrantState {
  readonly session: SessionId;
  readonly grant: string;
  readonly sha256: Hash32;
}

/** A call that was let run and has no result on record. */
export interface UnfinishedCall {
  readonly decision: AuditSeq;
  readonly session: SessionId;
  readonly call: CallId;
  readonly tool: string;
}

/** Numbers behind the highest that may still come. */
const MAX_MISSED = 64;
const NO_CALLS: UsedCalls = { highest: null, missed: [] };

/** Whether a session has used this call number, or can't have it any more. */
export function isUsed({ highest, missed }: UsedCalls, call: CallId): boolean {
  return highest !== null && call <= highest && !missed.includes(call);
}

function withCall({ highest, missed }: UsedCalls, call: CallId): UsedCalls {
  if (highest !== null && call <= highest) return { highest, missed: missed.filter((number) => number !== call) };
  const skipped: number[] = [];
  for (let number = Math.max((highest ?? -1) + 1, call - MAX_MISSED); number < call; number++) skipped.push(number);
  return { highest: call, missed: [...missed, ...skipped].slice(-MAX_MISSED) };
}

/** The state of a session when it had made its calls up to this one. */
export function stateAt({ start, steps }: Pick<SessionState, "start" | "steps">, call: CallId): Label {
  return steps.filter((step) => step.call <= call).reduce((label, step) => joinLabel(label, step.label), start);
}

/** Takes in that a call raised the session to `label`. Calls needn't come in order. */
function withStep(steps: readonly Step[], call: CallId, label: Label): readonly Step[] {
  const sorted = [...steps, { call, label }].sort((a, b) => a.call - b.call);
  const kept: Step[] = [];
  for (const step of sorted) {
    const before = kept.at(-1)?.label;
    const after = before === undefined ? step.label : joinLabel(before, step.label);
    if (before === undefined || !isSameLabel(before, after)) kept.push({ call: step.call, label: after });
  }
  return kept;
}

function isSameLabel(a: Label, b: Label): boolean {
  return a.taint === b.taint && a.untrusted === b.untrusted;
}

/** The number in the id of a grant of `allow`. */
function grantNumber(id: string): number {
  const digits = /^session-(?<digits>[1-9][0-9]{0,14})$/u.exec(id)?.groups?.["digits"];
  return digits === undefined ? 0 : Number(digits);
}

/** What may be read of the states; only the ledger applies records to them. */
export type LedgerStates = Omit<SessionStates, "apply" | "doubt">;

/** All of the state, for a snapshot. Nothing in it changes any more. */
export interface StatesContents {
  readonly latest: number;
  readonly lastSessionGrant: number;
  readonly sessions: readonly (readonly [SessionId, SessionState])[];
  readonly paths: readonly (readonly [AbsPath, Label])[];
  readonly uses: readonly (readonly [string, number])[];
  readonly asks: readonly (readonly [AuditSeq, DecisionEvent])[];
  readonly unfinished: readonly UnfinishedCall[];
  readonly sessionGrants: readonly SessionGrantState[];
}

export class SessionStates {
  readonly #sessions = new Map<SessionId, SessionState>();
  readonly #paths = new Map<AbsPath, Label>();
  /** Of every grant with `uses` that a call has met. */
  readonly #uses = new Map<string, number>();
  readonly #asks = new Map<AuditSeq, DecisionEvent>();
  readonly #unfinished = new Map<AuditSeq, UnfinishedCall>();
  readonly #grants = new Map<string, SessionGrantState>();
  #lastGrant = 0;
  #latest = 0;
  #pathList: readonly PathLabel[] | undefined;

  /** The states that a snapshot holds. */
  static restore(contents: StatesContents): SessionStates {
    const states = new SessionStates();
    for (const [id, session] of contents.sessions) states.#sessions.set(id, session);
    for (const [path, label] of contents.paths) states.#paths.set(path, label);
    for (const [grant, spent] of contents.uses) states.#uses.set(grant, spent);
    for (const [seq, ask] of contents.asks) states.#asks.set(seq, ask);
    for (const call of contents.unfinished) states.#unfinished.set(call.decision, call);
    for (const given of contents.sessionGrants) states.#grants.set(given.grant, given);
    states.#latest = contents.latest;
    states.#lastGrant = contents.lastSessionGrant;
    return states;
  }

  /** All that {@link SessionStates.restore} needs. Copies no more than lists of what never changes. */
  contents(): StatesContents {
    return {
      latest: this.#latest,
      lastSessionGrant: this.#lastGrant,
      sessions: [...this.#sessions],
      paths: [...this.#paths],
      uses: [...this.#uses],
      asks: [...this.#asks],
      unfinished: this.unfinished,
      sessionGrants: this.sessionGrants,
    };
  }

  session(id: SessionId): SessionState | undefined {
    return this.#sessions.get(id);
  }

  /** How many sessions the log knows. */
  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** The latest time on record, in milliseconds since 1970-01-01T00:00:00Z; 0 where there is none. */
  get latest(): number {
    return this.#latest;
  }

  /** How many calls have spent a use of this grant. */
  usesSpent(grant: string): number {
    return this.#uses.get(grant) ?? 0;
  }

  get pathLabels(): readonly PathLabel[] {
    this.#pathList ??= [...this.#paths].map(([path, label]) => ({ path, label }));
    return this.#pathList;
  }

  /** Grants of `allow` that haven't ended. */
  get sessionGrants(): readonly SessionGrantState[] {
    return [...this.#grants.values()];
  }

  /** The number of the last grant of `allow`, 0 where there was none: numbers rise and are never used again. */
  get lastSessionGrant(): number {
    return this.#lastGrant;
  }

  /** Asks that nobody has answered, by the seq of their decision. */
  get openAsks(): readonly AuditSeq[] {
    return [...this.#asks.keys()];
  }

  /** Calls of this life of brokerd, or of the last one before its next start, that were let run and have no result. */
  get unfinished(): readonly UnfinishedCall[] {
    return [...this.#unfinished.values()];
  }

  /** Takes in the next record of the log. Records must come in order, each once. */
  apply(record: AuditRecord): void {
    const { event } = record;
    this.#latest = Math.max(this.#latest, millisFromTimestamp(record.time));
    switch (event.kind) {
      case "started":
        // Nothing of an earlier life still runs, and who held a grant open is gone.
        this.#unfinished.clear();
        this.#grants.clear();
        return;
      case "session_opened":
        this.#open(record.seq, event);
        return;
      case "session_grant": {
        const { session, grant, sha256 } = event;
        this.#lastGrant = Math.max(this.#lastGrant, grantNumber(grant));
        this.#grants.set(grant, { session, grant, sha256 });
        return;
      }
      case "session_grant_ended":
        this.#grants.delete(event.grant);
        return;
      case "label_reset":
        for (const path of this.#paths.keys()) if (holdsPath(event.path, path)) this.#paths.delete(path);
        this.#pathList = undefined;
        return;
      case "decision":
        this.#latest = Math.max(this.#latest, millisFromTimestamp(event.now));
        this.#takeDecision(event);
        if (event.outcome === "ask") this.#asks.set(record.seq, event);
        if (event.outcome === "allowed") this.#dispatch(record.seq, event, event);
        return;
      case "approval": {
        const decision = this.#asks.get(event.decision);
        if (event.outcome === "changed") return;
        this.#asks.delete(event.decision);
        if (decision === undefined || (event.outcome !== "allowed" && event.outcome !== "ask")) return;
        this.#dispatch(event.decision, decision, event);
        return;
      }
      case "result":
        this.#unfinished.delete(event.decision);
        return;
      case "accepted_break":
      case "accepted_loss":
        this.#assumeTheWorst();
        return;
      case "grants_changed":
      case "recovery":
      case "stopped":
        return;
      default:
        unreachable(event);
    }
  }

  /**
   * Takes in what reads as a record behind a break of the log. Nothing vouches for it, so it can only make things stricter: it adds
   * sessions and paths for the record that accepts the break, spends uses, and takes numbers that mustn't be used again.
   */
  doubt({ seq, event }: AuditRecord): void {
    if (event.kind === "session_opened" && !this.#sessions.has(event.session)) {
      const { session, origin, ceiling, from } = event;
      const unknown = { raisedBy: [], steps: [], rewoundAt: null, calls: NO_CALLS };
      this.#sessions.set(session, { origin, ceiling, label: WORST, from, start: WORST, ...unknown });
    }
    if (event.kind === "session_grant") this.#lastGrant = Math.max(this.#lastGrant, grantNumber(event.grant));
    if (event.kind === "decision") this.#takeDecision(event);
    if (event.kind === "decision" && event.outcome === "allowed") this.#dispatch(seq, event, event);
    if (event.kind === "decision" && event.outcome === "ask" && !this.#asks.has(seq)) this.#asks.set(seq, event);
    if (event.kind === "approval") {
      const asked = this.#asks.get(event.decision);
      if (asked !== undefined && event.raises !== null) this.#dispatch(event.decision, asked, event);
      else this.#spend(event.spends);
    }
  }

  /** The lines behind an accepted break may have raised anything, and answered anything. */
  #assumeTheWorst(): void {
    for (const [id, state] of this.#sessions) this.#sessions.set(id, { ...state, label: WORST, start: WORST });
    for (const path of this.#paths.keys()) this.#paths.set(path, WORST);
    this.#pathList = undefined;
    // Which grant it was that they spent nobody knows.
    for (const grant of this.#uses.keys()) this.#uses.set(grant, ALL_USES);
    this.#asks.clear();
    this.#unfinished.clear();
    this.#grants.clear();
  }

  /** What any decision tells, whatever came of it: the number that it took, and the grants with uses that it met. */
  #takeDecision({ session, call, uses_left: limited }: DecisionEvent): void {
    for (const { grant } of limited) this.#uses.set(grant, this.usesSpent(grant));
    const state = this.#sessions.get(session);
    if (state !== undefined) this.#sessions.set(session, { ...state, calls: withCall(state.calls, call) });
  }

  /** A rewound session begins with what its calls before the cut had raised, and can itself be cut off further up. */
  #open(seq: AuditSeq, { session, origin, ceiling, state, from }: Extract<AuditEvent, { kind: "session_opened" }>): void {
    const parent = from === null ? undefined : this.#sessions.get(from.session);
    const none = { steps: [], raisedBy: [], rewoundAt: null, calls: NO_CALLS };
    const opened: SessionState = { origin, ceiling, label: state, from, start: state, ...none };
    if (from === null || parent === undefined) {
      this.#sessions.set(session, opened);
      return;
    }
    this.#sessions.set(from.session, { ...parent, rewoundAt: seq });
    const { start } = parent;
    const steps = parent.steps.filter(({ call }) => call <= from.call);
    const raisedBy = parent.raisedBy.filter(({ call }) => call <= from.call);
    this.#sessions.set(session, { ...opened, start, steps, raisedBy });
  }

  /** What a call that may run does to the state, by the record that let it run: the decision itself or its approval. */
  #dispatch(
    seq: AuditSeq,
    decision: DecisionEvent,
    { raises, spends, run }: Pick<DecisionEvent, "raises" | "spends" | "run">,
  ): void {
    const { session, call, tool } = decision;
    this.#unfinished.set(seq, { decision: seq, session, call, tool });
    this.#spend(spends);
    if (raises === null) return;
    this.#raise(seq, decision, raises);
    for (const path of run === null ? [] : writtenBy(decision, run)) {
      const known = this.#paths.get(path);
      this.#paths.set(path, known === undefined ? raises : joinLabel(known, raises));
      this.#pathList = undefined;
    }
  }

  #spend(grant: string | null): void {
    if (grant !== null) this.#uses.set(grant, Math.min(ALL_USES, this.usesSpent(grant) + 1));
  }

  #raise(seq: AuditSeq, { session, call, tool }: DecisionEvent, raises: Label): void {
    const state = this.#sessions.get(session);
    if (state === undefined) return;
    const steps = withStep(state.steps, call, raises);
    const after = joinLabel(state.label, raises);
    const raisedBy = isSameLabel(after, state.label) ? state.raisedBy : [...state.raisedBy, { decision: seq, call, tool, after }];
    this.#sessions.set(session, { ...state, label: after, steps, raisedBy });
  }
}
