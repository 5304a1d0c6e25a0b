/** The life of one tool call: decided, perhaps asked, run, recorded, released. */
import type { Clock } from "@boxmaker/edge/log";
import {
  type ApprovalId,
  type BrokerAnswer,
  type DenialReason,
  type Origin,
  type ToolOutcome,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";
import type { ApprovalTable } from "../approvals/approval-table.ts";
import type { Events } from "../events.ts";
import { type Dispatch, type Ledger, RequesterLeftError } from "../ledger/ledger.ts";
import type { CallRequest } from "../policy/decide.ts";
import type { Ask } from "../policy/decision.ts";
import { buildRunSpec } from "../runner/run-spec.ts";
import { RUN_SENTENCES, type Runtime } from "../runner/runtime.ts";

/** How an ask ended, for the call that waits for it. */
export type AskEnd = Dispatch | { readonly kind: "denied"; readonly reason: DenialReason };

/** What the model is told where the fixed sentences of the runner don't apply. */
export const NOT_RECORDED = "The result could not be recorded, so it is not released.";
export const REQUESTER_GONE = "The call was not run, because nobody was waiting for it any more.";

/** Tells the requester that it waits. Resolves to false where it can't be told, which counts as gone. */
export type TellPending = (answer: Extract<BrokerAnswer, { kind: "pending_approval" }>) => Promise<boolean>;

export interface ToolCallsOptions {
  readonly ledger: Ledger;
  readonly table: ApprovalTable<AskEnd>;
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly events: Events;
  readonly ttlMs: number;
}

const BROKERD = { by: "brokerd", user: null } as const;

export class ToolCalls {
  readonly #options: ToolCallsOptions;
  readonly #stopping = new AbortController();
  readonly #kill = new AbortController();
  readonly #active = new Set<Promise<ToolOutcome>>();

  constructor(options: ToolCallsOptions) {
    this.#options = options;
  }

  /** Handles one request to its end. `gone` aborts when the requester has left. Never rejects for what a call can come to. */
  async handle(request: CallRequest, origin: Origin, tellPending: TellPending, gone: AbortSignal): Promise<ToolOutcome> {
    if (this.#stopping.signal.aborted) return denied("shutting_down");
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
   * Ends every waiting ask as `shutting_down` and takes no new call; boxes that run may end until `kill` aborts, then they are killed.
   * Resolves when every call has been answered.
   */
  async stop(kill: AbortSignal): Promise<void> {
    this.#stopping.abort();
    for (const { id } of this.#options.table.list())
      this.#background(this.#end(id, "gone", { kind: "denied", reason: "shutting_down" }));
    kill.addEventListener("abort", () => this.#kill.abort(), { once: true });
    await Promise.allSettled(this.#active);
  }

  /** For work that ends a call's waiting: it has handlers of its own for all that can fail, so a rejection is a bug. */
  #background(work: Promise<void>): void {
    work.catch((error: unknown) => this.#options.events.bug("approval", error));
  }

  async #live(request: CallRequest, origin: Origin, tellPending: TellPending, gone: AbortSignal): Promise<ToolOutcome> {
    const { ledger, events } = this.#options;
    let decided: Awaited<ReturnType<Ledger["decide"]>>;
    try {
      decided = await ledger.decide(request, origin, gone);
    } catch (error) {
      // Nothing was decided, nothing ran.
      if (!(error instanceof RequesterLeftError)) throw error;
      return failed(REQUESTER_GONE);
    }
    const reason = decided.kind === "denied" ? decided.reason : null;
    events.decided(request.session, request.call, request.tool, decided.kind === "run" ? "allowed" : decided.kind, reason);
    switch (decided.kind) {
      case "denied":
        return denied(decided.reason);
      case "run":
        return this.#run(decided, gone);
      case "ask": {
        const end = await this.#ask(decided.id, decided.ask, tellPending, gone);
        return end.kind === "run" ? this.#run(end, gone) : denied(end.reason);
      }
      default:
        return unreachable(decided);
    }
  }

  async #ask(id: ApprovalId, ask: Ask, tellPending: TellPending, gone: AbortSignal): Promise<AskEnd> {
    const { table, clock, ttlMs } = this.#options;
    if (!table.hasRoom(ask.session) || this.#stopping.signal.aborted) {
      const reason = this.#stopping.signal.aborted ? "shutting_down" : "throttled";
      await this.#options.ledger.close(id, "gone", BROKERD, reason);
      return { kind: "denied", reason };
    }
    const expiresAt = Math.min(clock.now() + ttlMs, ask.expires ?? Number.POSITIVE_INFINITY);
    const { promise, resolve } = Promise.withResolvers<AskEnd>();
    table.add({ id, session: ask.session, ask, expiresAt, resolve });

    const answered = new AbortController();
    const onGone = (): void => this.#background(this.#end(id, "gone", { kind: "denied", reason: "approval_refused" }));
    gone.addEventListener("abort", onGone, { once: true });
    this.#background(this.#expire(id, expiresAt, answered.signal));
    try {
      const expires = timestampFromMillis(expiresAt);
      const told = await tellPending({ kind: "pending_approval", body: { approval: id, expires } });
      if (!told || gone.aborted) onGone();
      return await promise;
    } finally {
      answered.abort();
      gone.removeEventListener("abort", onGone);
    }
  }

  async #expire(id: ApprovalId, expiresAt: number, answered: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      // A wall clock that is set back would make one sleep too short or too long, so it is looked at again.
      while (clock.now() < expiresAt) await clock.sleep(Math.min(expiresAt - clock.now(), MAX_SLEEP_MS), answered);
    } catch {
      // Answered before it expired.
      return;
    }
    await this.#end(id, "expired", { kind: "denied", reason: "approval_expired" });
  }

  /** Takes the entry, records how it ended and answers the call. Does nothing where somebody else has taken it. */
  async #end(id: ApprovalId, answer: "expired" | "gone", end: AskEnd): Promise<void> {
    const entry = this.#options.table.take(id, answer);
    if (entry === undefined) return;
    const recorded = await this.#options.ledger.close(id, answer, BROKERD, null);
    this.#options.events.approvalEnded(id, answer, "brokerd");
    entry.resolve(recorded ? end : { kind: "denied", reason: "audit_unavailable" });
  }

  async #run(dispatch: Dispatch, gone: AbortSignal): Promise<ToolOutcome> {
    const { ledger, runtime, clock, events } = this.#options;
    const { decision } = dispatch;
    const started = clock.monotonic();
    try {
      // The last look: an approval may have taken hours.
      if (gone.aborted) {
        events.requesterGone(decision.session, decision.call);
        return await this.#finish(dispatch, started, { status: "failed", content: REQUESTER_GONE, truncated: false });
      }
      const outcome = await runtime.run(buildRunSpec(decision), { signal: this.#kill.signal });
      if (outcome.kind === "error") {
        events.runFailed(dispatch.seq, outcome.code, outcome.detail);
        return await this.#finish(dispatch, started, { status: "failed", content: RUN_SENTENCES[outcome.code], truncated: false });
      }
      const { content, truncated } = outcome;
      const recorded = await ledger.finish(dispatch, {
        status: outcome.status,
        content,
        truncated,
        elapsedMs: elapsed(clock, started),
      });
      events.ran(dispatch.seq, outcome.status, elapsed(clock, started));
      if (!recorded) return failed(NOT_RECORDED);
      return { outcome: "result", content, class: decision.label.taint, untrusted: decision.label.untrusted, truncated };
    } finally {
      dispatch.release();
    }
  }

  async #finish(
    dispatch: Dispatch,
    started: number,
    result: { readonly status: "failed"; readonly content: string; readonly truncated: boolean },
  ): Promise<ToolOutcome> {
    const { ledger, clock } = this.#options;
    const recorded = await ledger.finish(dispatch, { ...result, elapsedMs: elapsed(clock, started) });
    return failed(recorded ? result.content : NOT_RECORDED);
  }
}

/** The longest that a timer of Node can wait is 2^31-1 ms; this looks at the clock more often anyway. */
const MAX_SLEEP_MS = 60_000;

function elapsed(clock: Clock, started: number): number {
  return Math.max(0, Math.round(clock.monotonic() - started));
}

function denied(reason: DenialReason): ToolOutcome {
  return { outcome: "denied", reason };
}

function failed(message: string): ToolOutcome {
  return { outcome: "failed", message };
}
