/** The life of one tool call: decided, perhaps asked, run, recorded, released. */
import type { Clock } from "@boxmaker/edge/log";
import {
  type ApprovalId,
  type BrokerAnswer,
  type CallId,
  type DenialReason,
  type Origin,
  type ToolOutcome,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";
import type { ApprovalTable } from "../approvals/approval-table.ts";
import type { Events } from "../events.ts";
import type { Admission } from "../ledger/admission.ts";
import type { Ledger, TurnRequest } from "../ledger/ledger.ts";
import type { Denied, Dispatch, RecordedAsk } from "../ledger/outcomes.ts";
import { buildRunSpec } from "../runner/run-spec.ts";
import { RUN_SENTENCES, type RunOutcome, type Runtime } from "../runner/runtime.ts";

/** How an ask ended, for the call that waits for it. */
export type AskEnd = Dispatch | Denied;

/** The session is another kind of client's, or has used the call's number before. */
export type NotDecided = "foreign_session" | "reused_call";

/** What the model is told where the fixed sentences of the runner don't apply. */
export const NOT_RECORDED = "The result could not be recorded, so it is not released.";
export const REQUESTER_GONE = "The call was not run, because nobody was waiting for it any more.";

/** Tells the requester that it waits. Resolves to false where it can't be told, which counts as gone. */
export type TellPending = (answer: Extract<BrokerAnswer, { kind: "pending_approval" }>) => Promise<boolean>;

export interface ToolCallsOptions {
  readonly ledger: Ledger;
  readonly admission: Admission;
  readonly table: ApprovalTable<AskEnd>;
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly events: Events;
  /** How long an ask waits at most, in milliseconds. */
  readonly ttlMs: number;
}

const BROKERD = { by: "brokerd", user: null } as const;

/** A clock that is set forward is noticed after this at the latest, in milliseconds. */
const MAX_SLEEP_MS = 60_000;

export class ToolCalls {
  readonly #options: ToolCallsOptions;
  readonly #kill = new AbortController();
  readonly #active = new Set<Promise<unknown>>();

  constructor(options: ToolCallsOptions) {
    this.#options = options;
    // What waits can't be answered any more: no answer could be recorded.
    this.#background(options.ledger.whenStopped.then(() => this.#endAll("audit_unavailable")));
  }

  /**
   * Handles one request to its end. Never rejects for what a call can come to.
   *
   * @param gone aborts when the requester has left
   * @returns what the requester is told, or why nothing was decided
   */
  async handle(
    request: TurnRequest,
    origin: Origin,
    tellPending: TellPending,
    gone: AbortSignal,
  ): Promise<ToolOutcome | NotDecided> {
    const life = this.#live(request, origin, tellPending, gone);
    this.#active.add(life);
    try {
      return await life;
    } finally {
      this.#active.delete(life);
    }
  }

  /** Calls in progress, waiting ones included. */
  get active(): number {
    return this.#active.size;
  }

  /**
   * Ends every waiting ask as `shutting_down` and lets nothing more run; boxes that run may end until `kill` aborts, then they are
   * killed. Resolves when every call that has come in has its outcome.
   */
  async stop(kill: AbortSignal): Promise<void> {
    this.#options.admission.stop();
    const abort = (): void => this.#kill.abort();
    if (kill.aborted) abort();
    kill.addEventListener("abort", abort, { once: true });
    this.#background(this.#endAll("shutting_down"));
    while (this.#active.size > 0) await Promise.allSettled(this.#active);
  }

  /** For work that ends a call's waiting: it has handlers of its own for all that can fail, so a rejection is a bug. */
  #background(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#options.events.bug("approval", error));
  }

  async #live(
    request: TurnRequest,
    origin: Origin,
    tellPending: TellPending,
    gone: AbortSignal,
  ): Promise<ToolOutcome | NotDecided> {
    const { ledger, events } = this.#options;
    const { session, call, turn, tool } = request;
    const decided = await ledger.decide(request, origin, gone);
    switch (decided.kind) {
      case "denied":
        events.decided(session, call, tool, "denied", decided.reason);
        return denied(decided.reason);
      case "run":
        events.decided(session, call, tool, "allowed", null);
        return this.#run(decided, gone);
      case "ask": {
        events.decided(session, call, tool, "ask", null);
        const end = await this.#ask(decided, turn, tellPending, gone);
        return end.kind === "run" ? this.#run(end, gone) : denied(end.reason);
      }
      case "foreign":
        events.foreignSession(session, origin);
        return "foreign_session";
      case "reused":
        events.reusedCall(session, call);
        return "reused_call";
      default:
        return unreachable(decided);
    }
  }

  async #ask({ id, ask, release }: RecordedAsk, turn: CallId, tellPending: TellPending, gone: AbortSignal): Promise<AskEnd> {
    const { table, clock, ttlMs, admission, ledger, events } = this.#options;
    const expiresAt = Math.min(clock.now() + ttlMs, ask.expires ?? Number.POSITIVE_INFINITY);
    const { promise, resolve } = Promise.withResolvers<AskEnd>();
    table.add({ id, session: ask.session, turn, ask, expiresAt, deadline: clock.monotonic() + ttlMs, resolve });

    const answered = new AbortController();
    const onGone = (): void => this.#background(this.#end(id, "gone", "approval_refused"));
    gone.addEventListener("abort", onGone, { once: true });
    this.#background(this.#expire(id, answered.signal));
    try {
      // All of these may have come while the ask was being recorded, when there was nothing to end yet.
      if (admission.stopping.aborted) await this.#end(id, "gone", "shutting_down");
      if (ledger.stopped) await this.#end(id, "gone", "audit_unavailable");
      if ((ledger.states.session(ask.session)?.rewoundAt ?? 0) > id) await this.#end(id, "gone", "approval_refused", "rewound");
      const body = { approval: id, expires: timestampFromMillis(expiresAt) };
      const isTold = !gone.aborted && (await tellPending({ kind: "pending_approval", body }));
      if (!isTold || gone.aborted) onGone();
      return await promise;
    } catch (error) {
      // A bug in telling: whoever can't be told doesn't wait, and the entry mustn't stay.
      events.bug("pending", error);
      onGone();
      return await promise;
    } finally {
      answered.abort();
      gone.removeEventListener("abort", onGone);
      release();
    }
  }

  async #expire(id: ApprovalId, answered: AbortSignal): Promise<void> {
    const { clock, table } = this.#options;
    for (;;) {
      const left = table.timeLeft(id);
      if (left === undefined) return;
      if (left <= 0) break;
      try {
        await clock.sleep(Math.min(left, MAX_SLEEP_MS), answered);
      } catch {
        // Answered before it expired.
        return;
      }
    }
    await this.#end(id, "expired", "approval_expired");
  }

  async #endAll(reason: "shutting_down" | "audit_unavailable"): Promise<void> {
    await Promise.all(this.#options.table.ids.map((id) => this.#end(id, "gone", reason)));
  }

  /** Takes the entry, records how it ended and answers the call. Does nothing where somebody else has taken it. */
  async #end(id: ApprovalId, answer: "expired" | "gone", reason: DenialReason, why: string | null = null): Promise<void> {
    const entry = this.#options.table.take(id, answer);
    if (entry === undefined) return;
    const note = reason === "shutting_down" ? reason : why;
    const recorded = await this.#options.ledger.close(id, answer, BROKERD, note);
    this.#options.events.approvalEnded(id, answer, BROKERD.by);
    entry.resolve({ kind: "denied", reason: recorded ? reason : "audit_unavailable" });
  }

  async #run(dispatch: Dispatch, gone: AbortSignal): Promise<ToolOutcome> {
    const { ledger, clock, events } = this.#options;
    const { decision, seq, release } = dispatch;
    const started = clock.monotonic();
    try {
      const outcome = await this.#runBox(dispatch, gone);
      const result = outcome.kind === "done" ? outcome : { status: "failed" as const, content: outcome.sentence, truncated: false };
      const { status, content, truncated } = result;
      const elapsedMs = Math.max(0, Math.round(clock.monotonic() - started));
      // Only what is on record is released.
      if (!(await ledger.finish(dispatch, { status, content, truncated, elapsedMs }))) return failed(NOT_RECORDED);
      events.ran(seq, status, elapsedMs);
      if (outcome.kind !== "done") return failed(content);
      const { taint, untrusted } = decision.label;
      return { outcome: "result", content, class: taint, untrusted, truncated };
    } finally {
      release();
    }
  }

  /** Runs the call, unless nobody waits for it any more: an approval may have taken hours. `sentence` is for the model. */
  async #runBox(
    { decision, seq }: Dispatch,
    gone: AbortSignal,
  ): Promise<Extract<RunOutcome, { kind: "done" }> | { readonly kind: "error"; readonly sentence: string }> {
    const { runtime, events } = this.#options;
    if (gone.aborted) {
      events.requesterGone(decision.session, decision.call);
      return { kind: "error", sentence: REQUESTER_GONE };
    }
    try {
      const outcome = await runtime.run(buildRunSpec(decision), { signal: this.#kill.signal });
      if (outcome.kind === "done") return outcome;
      events.runFailed(seq, outcome.code, outcome.detail);
      return { kind: "error", sentence: RUN_SENTENCES[outcome.code] };
    } catch (error) {
      // A bug of the runner: what the tool did until then nobody knows, and the record says so.
      events.bug("runner", error);
      return { kind: "error", sentence: RUN_SENTENCES.no_answer };
    }
  }
}

function denied(reason: DenialReason): ToolOutcome {
  return { outcome: "denied", reason };
}

function failed(message: string): ToolOutcome {
  return { outcome: "failed", message };
}
