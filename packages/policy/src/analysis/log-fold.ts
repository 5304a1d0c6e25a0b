/** What a decision of the past depended on beside its own record: a fold over the log up to it. */
import {
  type AbsPath,
  type AuditRecord,
  type AuditSeq,
  type CallId,
  type DataClass,
  type DecisionEvent,
  type Hash32,
  holdsPath,
  joinLabel,
  type Label,
  type Origin,
  type PathLabel,
  type SessionId,
} from "@boxmaker/proto";
import { ALL_USES, WORST, writtenBy } from "../rules/remembered.ts";

/** A file of a set as the log lists it. */
export interface ListedFile {
  readonly file: string;
  readonly sha256: Hash32;
}

/** A call that raised a session's state, by the seq of its decision, and the state after it. */
export interface PastRaise {
  readonly seq: AuditSeq;
  readonly call: CallId;
  readonly tool: string;
  readonly after: Label;
}

/** A session as far as the log has been read. */
export interface PastSession {
  readonly origin: Origin;
  readonly ceiling: DataClass;
  readonly label: Label;
  readonly raisedBy: readonly PastRaise[];
}

type Ran = Pick<DecisionEvent, "raises" | "spends" | "run">;

/** Sessions, labels, uses and grants in force after the records that it has been given, in order and each once. */
export class LogFold {
  readonly #sessions = new Map<SessionId, PastSession>();
  readonly #labels = new Map<AbsPath, Label>();
  /** Of every grant with `uses` that a call has met. */
  readonly #spent = new Map<string, number>();
  readonly #asks = new Map<number, DecisionEvent>();
  readonly #granted = new Map<string, ListedFile & { readonly session: SessionId }>();
  #files: readonly ListedFile[] = [];
  #reserved: readonly AbsPath[] = [];

  /** Places that no grant could name and no call came to. */
  get reserved(): readonly AbsPath[] {
    return this.#reserved;
  }

  /** The files of the set in force for a session: the owner's, and behind them what was granted to this session alone. */
  filesFor(id: SessionId): readonly ListedFile[] {
    const own = [...this.#granted.values()].filter(({ session }) => session === id);
    return [...this.#files, ...own.map(({ file, sha256 }) => ({ file, sha256 }))];
  }

  get pathLabels(): readonly PathLabel[] {
    return [...this.#labels].map(([path, label]) => ({ path, label }));
  }

  session(id: SessionId): PastSession | undefined {
    return this.#sessions.get(id);
  }

  usesSpent(grant: string): number {
    return this.#spent.get(grant) ?? 0;
  }

  /** The decision that an approval answers, while nothing has ended it. */
  askOf(decision: number): DecisionEvent | undefined {
    return this.#asks.get(decision);
  }

  apply({ seq, event }: AuditRecord): void {
    switch (event.kind) {
      case "started":
        this.#granted.clear();
        this.#reserved = event.reserved;
        return;
      case "session_opened": {
        const { session, origin, ceiling, state: label, from } = event;
        const before =
          from === null ? [] : (this.#sessions.get(from.session)?.raisedBy ?? []).filter(({ call }) => call <= from.call);
        this.#sessions.set(session, { origin, ceiling, label, raisedBy: before });
        return;
      }
      case "grants_changed":
        this.#files = event.files;
        return;
      case "session_grant":
        this.#granted.set(event.grant, {
          file: `session grant ${event.grant}`,
          sha256: event.sha256,
          session: event.session,
        });
        return;
      case "session_grant_ended":
        this.#granted.delete(event.grant);
        return;
      case "label_reset":
        for (const path of this.#labels.keys()) if (holdsPath(event.path, path)) this.#labels.delete(path);
        return;
      case "decision":
        for (const { grant } of event.uses_left) this.#spent.set(grant, this.usesSpent(grant));
        if (event.outcome === "ask") this.#asks.set(seq, event);
        if (event.outcome === "allowed") this.#run(seq, event, event);
        return;
      case "approval": {
        const ask = this.#asks.get(event.decision);
        if (event.outcome === "changed" || ask === undefined) return;
        this.#asks.delete(event.decision);
        if (event.outcome === "allowed" || event.outcome === "ask") this.#run(event.decision, ask, event);
        return;
      }
      case "accepted_break":
      case "accepted_loss":
        for (const [id, session] of this.#sessions) this.#sessions.set(id, { ...session, label: WORST });
        for (const path of this.#labels.keys()) this.#labels.set(path, WORST);
        for (const grant of this.#spent.keys()) this.#spent.set(grant, ALL_USES);
        this.#granted.clear();
        this.#asks.clear();
        return;
      case "result":
      case "recovery":
      case "stopped":
        return;
      default:
        event satisfies never;
    }
  }

  #run(seq: AuditSeq, decision: DecisionEvent, { raises, spends, run }: Ran): void {
    if (spends !== null) this.#spent.set(spends, this.usesSpent(spends) + 1);
    if (raises === null) return;
    for (const path of run === null ? [] : writtenBy(decision, run)) {
      this.#labels.set(path, joinLabel(this.#labels.get(path) ?? raises, raises));
    }
    const session = this.#sessions.get(decision.session);
    if (session === undefined) return;
    const after = joinLabel(session.label, raises);
    const isHigher = after.taint !== session.label.taint || after.untrusted !== session.label.untrusted;
    const { call, tool } = decision;
    const raisedBy = isHigher ? [...session.raisedBy, { seq, call, tool, after }] : session.raisedBy;
    this.#sessions.set(decision.session, { ...session, label: after, raisedBy });
  }
}
