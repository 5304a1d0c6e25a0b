/**
 * What the audit log says about sessions, paths and uses: a fold over its records. The same function is used for the records of an
 * earlier life and for each new one, so a restart can't come to another state.
 */
import {
  AbsPath,
  type AuditRecord,
  type AuditSeq,
  type CallId,
  type DataClass,
  type DecisionEvent,
  joinLabel,
  type Label,
  millisFromTimestamp,
  type Origin,
  type PathLabel,
  type RunPlan,
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

/** A session as the log has it. */
export interface SessionState {
  readonly origin: Origin;
  readonly ceiling: DataClass;
  readonly label: Label;
  readonly raisedBy: readonly Raise[];
}

/** A call that was let run and has no result on record. */
export interface UnfinishedCall {
  readonly decision: AuditSeq;
  readonly session: SessionId;
  readonly call: CallId;
  readonly tool: string;
}

/** What may be read of the states; only the ledger applies records to them. */
export type LedgerStates = Omit<SessionStates, "apply">;

/** What is assumed of whatever a broken log can't be believed about. */
const WORST: Label = { taint: "secret", untrusted: true };

/** The paths that take the new state of a session whose call was let run: what its box could write. Policy's rule, from the record. */
function writtenPaths(decision: DecisionEvent, run: RunPlan): readonly AbsPath[] {
  const writable = run.mounts.filter((mount) => mount.writable).map((mount) => mount.path);
  if (decision.tool !== "write_file" || decision.arguments.form !== "typed") return writable;
  // A file tool writes its one file, not the whole mount.
  const path = AbsPath.safeParse(decision.arguments.values.path);
  return path.success ? [path.data] : writable;
}

export class SessionStates {
  readonly #sessions = new Map<SessionId, SessionState>();
  readonly #paths = new Map<AbsPath, Label>();
  readonly #uses = new Map<string, number>();
  readonly #asks = new Map<AuditSeq, DecisionEvent>();
  readonly #unfinished = new Map<AuditSeq, UnfinishedCall>();
  #latest = 0;
  #pathList: readonly PathLabel[] | undefined;

  session(id: SessionId): SessionState | undefined {
    return this.#sessions.get(id);
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
        // Nothing of an earlier life still runs.
        this.#unfinished.clear();
        return;
      case "session_opened": {
        const { session, origin, ceiling, state } = event;
        this.#sessions.set(session, { origin, ceiling, label: state, raisedBy: [] });
        return;
      }
      case "decision":
        this.#latest = Math.max(this.#latest, millisFromTimestamp(event.now));
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
   * sessions and paths for the record that accepts the break, and spends uses.
   */
  doubt({ seq, event }: AuditRecord): void {
    if (event.kind === "session_opened" && !this.#sessions.has(event.session)) {
      const { session, origin, ceiling } = event;
      this.#sessions.set(session, { origin, ceiling, label: WORST, raisedBy: [] });
    }
    if (event.kind === "decision" && event.outcome === "allowed") this.#dispatch(seq, event, event);
    if (event.kind === "decision" && event.outcome === "ask" && !this.#asks.has(seq)) this.#asks.set(seq, event);
    if (event.kind === "approval") {
      const asked = this.#asks.get(event.decision);
      if (asked !== undefined) this.#dispatch(event.decision, asked, event);
      else if (event.spends !== null) this.#uses.set(event.spends, this.usesSpent(event.spends) + 1);
    }
  }

  /** The lines behind an accepted break may have raised anything, and answered anything. */
  #assumeTheWorst(): void {
    for (const [id, state] of this.#sessions) this.#sessions.set(id, { ...state, label: WORST });
    for (const path of this.#paths.keys()) this.#paths.set(path, WORST);
    this.#pathList = undefined;
    this.#asks.clear();
    this.#unfinished.clear();
  }

  /** What a call that may run does to the state, by the record that let it run: the decision itself or its approval. */
  #dispatch(
    seq: AuditSeq,
    decision: DecisionEvent,
    { raises, spends, run }: Pick<DecisionEvent, "raises" | "spends" | "run">,
  ): void {
    const { session, call, tool } = decision;
    this.#unfinished.set(seq, { decision: seq, session, call, tool });
    if (spends !== null) this.#uses.set(spends, this.usesSpent(spends) + 1);
    if (raises === null) return;
    this.#raise(seq, decision, raises);
    for (const path of run === null ? [] : writtenPaths(decision, run)) {
      const known = this.#paths.get(path);
      this.#paths.set(path, known === undefined ? raises : joinLabel(known, raises));
      this.#pathList = undefined;
    }
  }

  #raise(seq: AuditSeq, decision: DecisionEvent, raises: Label): void {
    const state = this.#sessions.get(decision.session);
    if (state === undefined) return;
    const after = joinLabel(state.label, raises);
    if (after.taint === state.label.taint && after.untrusted === state.label.untrusted) return;
    const raise: Raise = { decision: seq, call: decision.call, tool: decision.tool, after };
    this.#sessions.set(decision.session, { ...state, label: after, raisedBy: [...state.raisedBy, raise] });
  }
}
