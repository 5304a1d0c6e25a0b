/**
 * What the audit log says about sessions, paths and uses: a fold over its records. The same function is used for the records of an
 * earlier life and for each new one, so a restart can't come to another state.
 */
import {
  AbsPath,
  type ApprovalId,
  type AuditRecord,
  type AuditSeq,
  type CallId,
  type DataClass,
  type DecisionEvent,
  joinLabel,
  type Label,
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

/** The paths that take the new state of a session whose call was let run: what its box could write. */
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
  readonly #asks = new Map<ApprovalId | AuditSeq, DecisionEvent>();
  #pathList: readonly PathLabel[] | undefined;

  session(id: SessionId): SessionState | undefined {
    return this.#sessions.get(id);
  }

  /** How often calls under this grant were let run. */
  usesSpent(grant: string): number {
    return this.#uses.get(grant) ?? 0;
  }

  get pathLabels(): readonly PathLabel[] {
    this.#pathList ??= [...this.#paths].map(([path, label]) => ({ path, label }));
    return this.#pathList;
  }

  /** Asks that nobody has answered, by the seq of their decision. */
  get openAsks(): readonly (ApprovalId | AuditSeq)[] {
    return [...this.#asks.keys()];
  }

  /** Takes in the next record of the log. Records must come in order, each once. */
  apply(record: AuditRecord): void {
    const { event } = record;
    switch (event.kind) {
      case "session_opened": {
        const { session, origin, ceiling, state } = event;
        this.#sessions.set(session, { origin, ceiling, label: state, raisedBy: [] });
        return;
      }
      case "decision":
        if (event.outcome === "ask") this.#asks.set(record.seq, event);
        if (event.outcome === "allowed") this.#dispatch(record.seq, event, event.grant, event.raises, event.run);
        return;
      case "approval": {
        const decision = this.#asks.get(event.decision);
        if (event.outcome === "changed") return;
        this.#asks.delete(event.decision);
        if (decision === undefined || (event.outcome !== "allowed" && event.outcome !== "ask")) return;
        this.#dispatch(event.decision, decision, event.grant, event.raises, event.run);
        return;
      }
      case "started":
      case "result":
      case "grants_changed":
      case "recovery":
      case "stopped":
        return;
      default:
        unreachable(event);
    }
  }

  #dispatch(seq: AuditSeq, decision: DecisionEvent, grant: string | null, raises: Label | null, run: RunPlan | null): void {
    if (grant !== null) this.#uses.set(grant, this.usesSpent(grant) + 1);
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
