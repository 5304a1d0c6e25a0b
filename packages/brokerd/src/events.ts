/** Every line that brokerd logs, one function per event, so that names and fields stay the same. */
import type { Clock, Log, LogFields } from "@boxmaker/edge/log";
import {
  type AbsPath,
  type ApprovalId,
  type AuditSeq,
  type CallId,
  type DenialReason,
  type GatewayUser,
  type GrantProblem,
  type Hash32,
  type Origin,
  type SessionId,
  type StatusReport,
  sha256,
  type ToolOutcome,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";

/** Which socket a connection came from. */
export type SocketName = "broker" | "broker-mcp" | "admin" | "approval";

/** What {@link Events} has seen since the start. */
export type Activity = Pick<StatusReport["body"], "calls" | "errors" | "last_error">;

/** Characters of an error that are kept for whoever asks how brokerd is. */
const MAX_DETAIL = 500;
/** Sets of problems that are remembered as printed. */
const MAX_PRINTED = 1000;

/** The typed face of the log. Texts of peers, tools and models are quoted and escaped by the log itself. */
export class Events {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "now">;
  readonly #printedProblems = new Set<Hash32>();
  readonly #denied = new Map<DenialReason, number>();
  #results = 0;
  #failed = 0;
  #errors = 0;
  #lastError: Activity["last_error"] = null;

  constructor(log: Log, clock: Pick<Clock, "now">) {
    this.#log = log;
    this.#clock = clock;
  }

  get activity(): Activity {
    const denied = [...this.#denied].map(([reason, count]) => ({ reason, count }));
    return { calls: { results: this.#results, failed: this.#failed, denied }, errors: this.#errors, last_error: this.#lastError };
  }

  /** Counts what a requester was answered; the log has had its lines. */
  answered(outcome: ToolOutcome): void {
    switch (outcome.outcome) {
      case "result":
        this.#results += 1;
        return;
      case "failed":
        this.#failed += 1;
        return;
      case "denied":
        this.#denied.set(outcome.reason, (this.#denied.get(outcome.reason) ?? 0) + 1);
        return;
      default:
        unreachable(outcome);
    }
  }

  decided(session: SessionId, call: CallId, tool: string, outcome: string, reason: DenialReason | null): void {
    this.#log.info("decided", { session, call, tool, outcome, reason });
  }

  ran(seq: AuditSeq, status: string, elapsedMs: number): void {
    this.#log.info("ran", { decision: seq, status, elapsed_ms: elapsedMs });
  }

  runFailed(seq: AuditSeq, code: string, detail: string): void {
    this.#log.warn("run-failed", { decision: seq, code, detail });
  }

  approvalEnded(id: ApprovalId, answer: string, by: string): void {
    this.#log.info("approval-ended", { approval: id, answer, by });
  }

  /** Whom a gateway names; what comes of it is said when the ask ends. */
  gatewayAnswers(id: ApprovalId, answer: "approve" | "refuse", { id: user, name }: GatewayUser): void {
    this.#log.info("gateway-answers", { approval: id, answer, user, name });
  }

  approvalChanged(id: ApprovalId): void {
    this.#log.warn("approval-changed", {
      approval: id,
      note: "the call would now have another effect; it waits to be looked at again",
    });
  }

  sessionGrant(session: SessionId, grant: string): void {
    this.#log.info("session-grant", { session, grant });
  }

  sessionGrantEnded(grant: string, reason: string): void {
    this.#log.info("session-grant-ended", { grant, reason });
  }

  labelReset(path: AbsPath): void {
    this.#log.info("label-reset", { path });
  }

  requesterGone(session: SessionId, call: CallId): void {
    this.#log.warn("requester-gone", { session, call });
  }

  /** Each distinct set of problems is printed once, until the grants are valid again. */
  grantsInvalid(problems: readonly GrantProblem[]): void {
    const set = sha256(JSON.stringify(problems));
    if (this.#printedProblems.has(set)) return;
    // Whoever changes the files as often sees a set twice.
    if (this.#printedProblems.size >= MAX_PRINTED) this.#printedProblems.clear();
    this.#printedProblems.add(set);
    for (const { file, line, problem } of problems)
      this.#error("grants-invalid", { file, line, problem, see: "docs/runbook.md#grants-invalid" });
  }

  grantsValid(): void {
    this.#printedProblems.clear();
  }

  configApplied(keys: readonly string[]): void {
    this.#log.info("config-applied", { changed: keys.length === 0 ? "nothing" : keys.join(", ") });
  }

  configInvalid(problem: string): void {
    this.#error("config-refused", { problem, note: "nothing has changed", see: "docs/runbook.md#config-invalid" });
  }

  configNeedsRestart(keys: readonly string[]): void {
    const note = "nothing has changed; these change at a start only";
    this.#error("config-refused", { keys: keys.join(", "), note, see: "docs/runbook.md#config-needs-restart" });
  }

  ledgerStopped(cause: unknown): void {
    const detail = cause instanceof Error ? cause.message : "unknown error";
    this.#error("audit-stopped", { detail, see: "docs/runbook.md#audit-unavailable" });
  }

  /** A session that another kind of client has opened. */
  foreignSession(session: SessionId, origin: Origin): void {
    this.#log.warn("foreign-session", { session, origin });
  }

  /** A call number that its session has used. */
  reusedCall(session: SessionId, call: CallId): void {
    this.#log.warn("reused-call", { session, call });
  }

  forbidden(socket: SocketName, kind: string): void {
    this.#log.warn("forbidden", { socket, kind });
  }

  badRequest(socket: SocketName, fault: string, detail: string): void {
    this.#log.warn("bad-request", { socket, fault, detail });
  }

  connectionRefused(socket: SocketName): void {
    this.#log.warn("connection-refused", { socket, note: "too many connections" });
  }

  listenerError(socket: SocketName, detail: string): void {
    this.#error("listener-error", { socket, detail });
  }

  bug(where: string, error: unknown): void {
    this.#error("bug", { where, detail: error instanceof Error ? (error.stack ?? error.message) : "unknown error" });
  }

  notice(text: string): void {
    this.#log.warn("notice", { text });
  }

  #error(event: string, fields: LogFields): void {
    this.#log.error(event, fields);
    const detail = Object.entries(fields).map(([key, value]) => `${key}: ${value}`);
    this.#errors += 1;
    this.#lastError = {
      time: timestampFromMillis(this.#clock.now()),
      event,
      detail: detail.join(", ").slice(0, MAX_DETAIL).toWellFormed(),
    };
  }
}
