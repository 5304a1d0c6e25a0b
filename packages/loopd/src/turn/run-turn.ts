/** One turn: the user's text, then request, reply and tool calls, again and again, until the model answers without a call. */
import type { Clock } from "@boxmaker/edge/log";
import { type CallId, type SessionRecord, type TurnEvent, timestampFromMillis, type Usage } from "@boxmaker/proto";
import type { Completion, CompletionRequest, CompletionResult, OnModelEvent } from "../model/completion.ts";
import type { Session } from "../session/session.ts";
import { acceptCalls } from "./accept-calls.ts";
import { findCacheLoss } from "./cache-loss.ts";
import { endTurn } from "./end-turn.ts";
import { History } from "./history.ts";
import { modelFailure } from "./model-failure.ts";
import { RepeatedCalls } from "./repeated-calls.ts";
import { runCalls } from "./run-calls.ts";
import { Seen } from "./seen.ts";
import type { ToolPort } from "./tool-port.ts";
import { addUsage, type TurnOutcome } from "./turn-outcome.ts";

/** Where replies come from. */
export interface ModelPort {
  complete(request: CompletionRequest, onEvent: OnModelEvent, signal: AbortSignal): Promise<CompletionResult>;
}

export interface TurnLimits {
  readonly iterations: number;
  readonly calls: number;
  readonly result_bytes: number;
  readonly cache_tolerance: number;
}

export interface TurnDependencies {
  readonly model: ModelPort;
  readonly port: ToolPort;
  readonly clock: Clock;
  readonly limits: TurnLimits;
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
  readonly #history: History;
  readonly #seen: Seen;
  readonly #turn: CallId;
  readonly #repeated = new RepeatedCalls();
  #usage: Usage | undefined;

  constructor(dependencies: TurnDependencies, request: TurnRequest) {
    this.#dependencies = dependencies;
    this.#request = request;
    const { baseline, records } = request.session;
    this.#history = new History(baseline, records);
    this.#seen = new Seen(records);
    this.#turn = request.session.nextCall;
  }

  async run(): Promise<TurnOutcome> {
    const { session, text } = this.#request;
    const { clock } = this.#dependencies;
    await endTurn(session, "loopd ended in mid-turn", (record) => this.#history.add(record));
    await this.#append({ kind: "user", time: timestampFromMillis(clock.now()), text });
    const outcome = await this.#iterate();
    if (outcome.kind === "failed")
      await endTurn(session, `${outcome.code}: ${outcome.detail}`, (record) => this.#history.add(record));
    return outcome;
  }

  async #iterate(): Promise<TurnOutcome> {
    const { limits } = this.#dependencies;
    for (let iteration = 0; iteration < limits.iterations; iteration++) {
      if (this.#request.signal.aborted) return CANCELLED;
      const result = await this.#complete();
      if (result.kind === "failed") return modelFailure(result.error);
      const outcome = await this.#take(result.completion);
      if (outcome !== undefined) return outcome;
    }
    const detail = `the turn made ${limits.iterations} requests without an answer; see docs/runbook.md#turn-limit`;
    return { kind: "failed", code: "turn_limit", detail };
  }

  async #complete(): Promise<CompletionResult> {
    const { session, emit, signal } = this.#request;
    const { messages } = this.#history;
    const request = { messages, tools: session.baseline.tools, slot: session.start.slot };
    return await this.#dependencies.model.complete(request, emit, signal);
  }

  /** Records a reply and runs its calls. Returns how the turn ended, if it did. */
  async #take(completion: Completion): Promise<TurnOutcome | undefined> {
    const { session, emit, signal } = this.#request;
    const { content, reasoning, thinkingCapped, usage } = completion;
    // Read before this reply's own numbers are there.
    const loss = findCacheLoss(session.records, completion, this.#dependencies.limits.cache_tolerance);
    const calls = acceptCalls(completion.toolCalls, session.records.length);
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
