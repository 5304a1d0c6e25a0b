/** One turn: the user's text, then request, reply and tool calls, again and again, until the model answers without a call. */
import type { Clock } from "@boxmaker/edge/log";
import {
  type CallId,
  type EpochEnd,
  type SessionId,
  type SessionRecord,
  type TurnEvent,
  timestampFromMillis,
  type Usage,
} from "@boxmaker/proto";
import type { Completion, CompletionResult } from "../model/completion.ts";
import { seenLabel } from "../session/seen-label.ts";
import type { Session } from "../session/session.ts";
import { acceptCalls } from "./accept-calls.ts";
import { findCacheLoss } from "./cache-loss.ts";
import { changeEpoch, type EpochPort, hasText } from "./change-epoch.ts";
import { isNearlyFull } from "./context-room.ts";
import { endTurn } from "./end-turn.ts";
import { History } from "./history.ts";
import { modelFailure } from "./model-failure.ts";
import type { ModelPort } from "./model-port.ts";
import { RepeatedCalls } from "./repeated-calls.ts";
import { runCalls } from "./run-calls.ts";
import { Seen } from "./seen.ts";
import type { ToolPort } from "./tool-port.ts";
import { addUsage, type FailedTurn, type TurnOutcome } from "./turn-outcome.ts";

export interface TurnLimits {
  readonly iterations: number;
  readonly calls: number;
  readonly result_bytes: number;
  readonly cache_tolerance: number;
  /** Tokens of the context that are kept free for a reply. */
  readonly context_reserve: number;
  readonly summary_bytes: number;
}

export interface TurnDependencies {
  readonly model: ModelPort;
  readonly port: ToolPort;
  readonly epochs: EpochPort;
  readonly clock: Clock;
  readonly limits: TurnLimits;
  /** Told when room couldn't be made and the turn goes on without: one printable line. Must not throw. */
  readonly onNoRoom: (session: SessionId, why: string) => void;
}

export interface TurnRequest {
  readonly session: Session;
  readonly text: string;
  /** Takes each event as it happens. Must not throw and must not wait. */
  readonly emit: (event: TurnEvent) => void;
  /** Aborting ends the turn at its next safe point: at once in a reply or an approval, after a call that may be running. */
  readonly signal: AbortSignal;
}

const CANCELLED: TurnOutcome = { kind: "failed", code: "cancelled", detail: "the turn was cancelled" };

class Turn {
  readonly #dependencies: TurnDependencies;
  readonly #request: TurnRequest;
  #history: History;
  readonly #seen: Seen;
  readonly #turn: CallId;
  readonly #repeated = new RepeatedCalls();
  #usage: Usage | undefined;
  /** Why the last summary wasn't made; it isn't asked for again unless there is no other way. */
  #noRoom: FailedTurn | undefined;

  constructor(dependencies: TurnDependencies, request: TurnRequest) {
    this.#dependencies = dependencies;
    this.#request = request;
    const { baseline, records } = request.session;
    this.#history = new History(baseline, records);
    this.#seen = new Seen(seenLabel(records, request.session.seenBefore));
    this.#turn = request.session.nextCall;
  }

  async run(): Promise<TurnOutcome> {
    const { session, text } = this.#request;
    const { clock } = this.#dependencies;
    await endTurn(session, "loopd ended in mid-turn", (record) => this.#history.add(record));
    await this.#append({ kind: "user", time: timestampFromMillis(clock.now()), text });
    const outcome = await this.#iterate();
    // An epoch that has ended and isn't followed yet hands the open turn on; it is ended there.
    if (outcome.kind === "failed" && session.end === undefined)
      await endTurn(session, `${outcome.code}: ${outcome.detail}`, (record) => this.#history.add(record));
    return outcome;
  }

  async #iterate(): Promise<TurnOutcome> {
    const { limits } = this.#dependencies;
    for (let iteration = 0; iteration < limits.iterations; iteration++) {
      if (this.#request.signal.aborted) return CANCELLED;
      const result = await this.#complete();
      if (result.kind === "failed") return result;
      const outcome = await this.#take(result.completion);
      if (outcome !== undefined) return outcome;
    }
    const detail = `the turn made ${limits.iterations} requests without an answer; see docs/runbook.md#turn-limit`;
    return { kind: "failed", code: "turn_limit", detail };
  }

  /** The next reply, with room made for it where there is too little. */
  async #complete(): Promise<Extract<CompletionResult, { readonly kind: "completed" }> | FailedTurn> {
    const failure = await this.#makeRoomAhead();
    if (failure !== undefined) return failure;
    const { session, emit, signal } = this.#request;
    for (;;) {
      const request = { messages: this.#history.messages, tools: session.baseline.tools, slot: session.start.slot };
      const result = await this.#dependencies.model.complete(request, emit, signal);
      if (result.kind === "completed") return result;
      if (result.error.code !== "context_full") return modelFailure(result.error);
      const carry = this.#carry();
      if (carry === undefined) return modelFailure(result.error);
      const noRoom = this.#noRoom ?? (await this.#changeEpoch(carry));
      if (noRoom !== undefined) return noRoom;
    }
  }

  /** Begins an epoch before a request that would leave too little room for its reply. Fails only where the turn can't go on. */
  async #makeRoomAhead(): Promise<FailedTurn | undefined> {
    const { model, limits, onNoRoom } = this.#dependencies;
    const { session, signal } = this.#request;
    if (this.#noRoom !== undefined || this.#carry() !== "turn") return undefined;
    const context = await model.contextTokens(signal);
    if (context === null || !isNearlyFull(session.records, context, limits.context_reserve)) return undefined;
    const failure = await this.#changeEpoch("turn");
    if (failure === undefined) return undefined;
    // Without a summary it may still fit. Ended and not begun, or cancelled, nothing goes on.
    if (session.end !== undefined || signal.aborted) return failure;
    onNoRoom(session.id, failure.detail);
    this.#noRoom = failure;
    return undefined;
  }

  /** What the next epoch would begin with; undefined where there is nothing left that could be summed up. */
  #carry(): EpochEnd["carry"] | undefined {
    const { records } = this.#request.session;
    const message = records.findLastIndex(({ kind }) => kind === "user");
    if (hasText(records.slice(0, message))) return "turn";
    return hasText(records.slice(message + 1)) ? "message" : undefined;
  }

  async #changeEpoch(carry: EpochEnd["carry"]): Promise<FailedTurn | undefined> {
    const { model, epochs, limits } = this.#dependencies;
    const { session, emit, signal } = this.#request;
    const context = { model, session, emit, signal, maxBytes: limits.summary_bytes };
    const change = await changeEpoch(context, epochs, carry);
    if (change.kind === "failed") return change;
    this.#usage = this.#usage === undefined ? change.end.usage : addUsage(this.#usage, change.end.usage);
    this.#history = new History(session.baseline, session.records);
    return undefined;
  }

  /** Records a reply and runs its calls. Returns how the turn ended, if it did. */
  async #take(completion: Completion): Promise<TurnOutcome | undefined> {
    const { session, emit, signal } = this.#request;
    const { content, reasoning, thinkingCapped, usage } = completion;
    // Read before this reply's own numbers are there.
    const loss = findCacheLoss(session.records, completion, this.#dependencies.limits.cache_tolerance);
    const earlier = new Set(session.records.flatMap((record) => (record.kind === "tool_result" ? [record.id] : [])));
    const calls = acceptCalls(completion.toolCalls, session.records.length, earlier);
    const stored = calls.map((call) => call.stored);
    await this.#append({ kind: "assistant", content, reasoning, thinking_capped: thinkingCapped, tool_calls: stored });
    await this.#append({ kind: "usage", usage });
    this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage);
    if (loss !== undefined) {
      await this.#append({ kind: "cache_loss", ...loss });
      emit({ event: "cache_loss", ...loss });
    }
    if (calls.length === 0) return { kind: "answered", content, usage: this.#usage };
    const { port, clock, limits } = this.#dependencies;
    const end = await runCalls(
      {
        session,
        turn: this.#turn,
        port,
        clock,
        limits,
        seen: this.#seen,
        repeated: this.#repeated,
        emit,
        onRecord: (record) => this.#history.add(record),
        signal,
      },
      calls,
      completion.cut,
    );
    if (end === "cancelled") return CANCELLED;
    if (end === "done") return undefined;
    const detail = "the model made the same call three times; see docs/runbook.md#turn-limit";
    return { kind: "failed", code: "turn_limit", detail };
  }

  async #append(record: SessionRecord): Promise<void> {
    await this.#request.session.append(record);
    this.#history.add(record);
  }
}

/**
 * Runs one turn on an open session. A turn that fails leaves the session ready for the next one.
 *
 * @throws {SessionError} `unwritable` when a record can't be made durable; nothing is done that isn't recorded
 */
export async function runTurn(dependencies: TurnDependencies, request: TurnRequest): Promise<TurnOutcome> {
  return await new Turn(dependencies, request).run();
}
