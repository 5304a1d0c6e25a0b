/** Which records an owner wants to see. */
import { type AuditRecord, type SessionId, type Timestamp, unreachable } from "@boxmaker/proto";

export interface FilterOptions {
  readonly session: SessionId | undefined;
  readonly tool: string | undefined;
  /** Only what didn't run: denied, refused, never answered. */
  readonly denied: boolean;
  readonly since: Timestamp | undefined;
}

interface Call {
  readonly session: SessionId;
  readonly tool: string;
}

/** Looks at the records of one log in order: an answer or a result belongs to the session and tool of the call it is about. */
export class RecordFilter {
  readonly #options: FilterOptions;
  /** Calls that may still be answered or come back, by the seq of their decision. */
  readonly #calls = new Map<number, Call>();
  /** The sessions of grants that are in force for one. */
  readonly #grants = new Map<string, SessionId>();

  constructor(options: FilterOptions) {
    this.#options = options;
  }

  /** No older record is wanted. */
  get since(): Timestamp | undefined {
    return this.#options.since;
  }

  /** Whether to show the record. Must be asked about every record, also about those that nobody wants to see. */
  takes(record: AuditRecord): boolean {
    const about = this.#aboutOf(record);
    const { session, tool, denied, since } = this.#options;
    return (
      (since === undefined || record.time >= since) &&
      (session === undefined || about.session === session) &&
      (tool === undefined || about.tool === tool) &&
      (!denied || stopsCall(record))
    );
  }

  #aboutOf({ seq, event }: AuditRecord): Partial<Call> {
    switch (event.kind) {
      case "decision": {
        const call = { session: event.session, tool: event.tool };
        if (event.outcome !== "denied") this.#calls.set(seq, call);
        return call;
      }
      case "approval": {
        const call = this.#calls.get(event.decision);
        const isOver = event.outcome === null || event.outcome === "denied";
        if (isOver) this.#calls.delete(event.decision);
        return call ?? {};
      }
      case "result": {
        const call = this.#calls.get(event.decision);
        this.#calls.delete(event.decision);
        return call ?? { session: event.session };
      }
      case "session_opened":
        return { session: event.session };
      case "session_grant":
        this.#grants.set(event.grant, event.session);
        return { session: event.session };
      case "session_grant_ended": {
        const session = this.#grants.get(event.grant);
        this.#grants.delete(event.grant);
        return session === undefined ? {} : { session };
      }
      case "started":
      case "grants_changed":
      case "label_reset":
      case "recovery":
      case "accepted_break":
      case "accepted_loss":
      case "stopped":
        return {};
      default:
        return unreachable(event);
    }
  }
}

function stopsCall({ event }: AuditRecord): boolean {
  if (event.kind === "decision") return event.outcome === "denied";
  return event.kind === "approval" && (event.answer !== "approved" || event.outcome === "denied");
}
