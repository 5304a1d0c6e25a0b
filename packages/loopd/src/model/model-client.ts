/** The model, as a turn sees it: one completion at a time per slot, waiting and trying again where that is safe. */
import type { Clock } from "@boxmaker/edge/log";
import type { CompletionRequest, CompletionResult, OnModelEvent } from "./completion.ts";
import { ContextCount } from "./context-count.ts";
import { tellingOf } from "./head-wait.ts";
import { ModelHttp } from "./http.ts";
import { CompletionError, type ModelError } from "./model-error.ts";
import { ModelServer } from "./model-server.ts";
import { backoffMs, isRetryable } from "./retry.ts";
import { waitForFreeSlot } from "./slot-check.ts";
import { type Permit, SlotGate } from "./slot-gate.ts";
import { type StreamContext, type StreamSettings, streamCompletion } from "./stream-completion.ts";

export interface ModelDependencies {
  readonly clock: Clock;
  /** In 0..1. */
  readonly random: () => number;
}

/** Completions from one server. Disposing closes every request. */
export class ModelClient implements AsyncDisposable {
  readonly server: ModelServer;
  readonly #http: ModelHttp;
  readonly #gate: SlotGate;
  readonly #settings: StreamSettings;
  readonly #dependencies: ModelDependencies;
  readonly #stop = new AbortController();
  /** Slots whose last request ended cleanly; any other is free only when the server says so. */
  readonly #clean = new Set<number>();
  readonly #count: ContextCount;

  constructor(socketPath: string, settings: StreamSettings, dependencies: ModelDependencies) {
    this.#http = new ModelHttp(socketPath, settings.infer.connect_ms);
    this.server = new ModelServer(this.#http, settings.infer.server);
    this.#gate = new SlotGate(settings.infer.queue);
    this.#count = new ContextCount(this.server, settings.model);
    this.#settings = settings;
    this.#dependencies = dependencies;
  }

  /** One reply. Aborting the signal closes the request. Never rejects but for bugs. */
  async complete(request: CompletionRequest, onEvent: OnModelEvent, signal: AbortSignal): Promise<CompletionResult> {
    const ending = AbortSignal.any([signal, this.#stop.signal]);
    let permit: Permit | undefined;
    try {
      const free = request.slot === null || this.server.hasNoSlots;
      permit = free ? { release: () => undefined } : await this.#gate.acquire(request.slot, onEvent, ending);
    } catch (error) {
      if (!ending.aborted) throw error;
      return failed({ code: "cancelled", detail: "the turn was cancelled", hadOutput: false });
    }
    if (permit === undefined) return failed({ code: "busy", detail: "too many turns wait for the model", hadOutput: false });
    return await this.#completeAlone(request, permit, onEvent, ending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#http[Symbol.asyncDispose]();
  }

  async #completeAlone(
    request: CompletionRequest,
    permit: Permit,
    onEvent: OnModelEvent,
    signal: AbortSignal,
  ): Promise<CompletionResult> {
    const { clock, random } = this.#dependencies;
    const { retry_attempts, retry_window_ms } = this.#settings.infer;
    let firstFailure: number | undefined;
    let lostReplies = 0;
    for (let attempt = 1; ; attempt++) {
      let shown = false;
      const onOwnEvent: OnModelEvent = (event) => {
        shown ||= event.event === "text" || event.event === "reasoning";
        onEvent(event);
      };
      const result = await this.#attempt(request, onOwnEvent, signal).catch((error: unknown) => {
        // A bug, reported by whoever runs the turn; the slot must not stay taken for it.
        this.#doubt(request.slot);
        permit.release();
        throw error;
      });
      if (result.kind === "completed") {
        permit.release();
        return result;
      }
      this.#doubt(request.slot);
      const { error } = result;
      if (shown) onEvent({ event: "discarded" });
      if (error.hadOutput) lostReplies++;
      firstFailure ??= clock.monotonic();
      const afterMs = backoffMs(attempt, random());
      const inWindow = clock.monotonic() - firstFailure + afterMs <= retry_window_ms;
      // A reply that is lost twice in its middle is more likely the request's doing than a restart's.
      if (!isRetryable(error) || lostReplies > 1 || attempt >= retry_attempts || !inWindow || signal.aborted) {
        permit.release();
        return result;
      }
      onEvent({ event: "retrying", attempt, after_ms: afterMs, error: error.detail });
      this.server.forget();
      await clock.sleep(afterMs, signal).catch(() => undefined);
    }
  }

  async #attempt(request: CompletionRequest, onEvent: OnModelEvent, signal: AbortSignal): Promise<CompletionResult> {
    const { clock } = this.#dependencies;
    const context: StreamContext = { http: this.#http, server: this.server, clock, settings: this.#settings };
    try {
      await this.#prepare(request, onEvent, signal);
      const completion = await streamCompletion(context, request, onEvent, signal);
      const { prompt, completion: written } = completion.usage;
      if (request.slot !== null) this.#count.learn(request, request.slot, prompt + written);
      return { kind: "completed", completion };
    } catch (error) {
      if (signal.aborted) return failed({ code: "cancelled", detail: "the turn was cancelled", hadOutput: true });
      if (error instanceof CompletionError) return failed(error.error);
      throw error;
    }
  }

  /** What must be so before a request is sent. @throws {CompletionError} when it isn't */
  async #prepare(request: CompletionRequest, onEvent: OnModelEvent, signal: AbortSignal): Promise<void> {
    const { clock } = this.#dependencies;
    const { slot } = request;
    const { poll_ms, busy_ms, loading_ms, idle_ms } = this.#settings.infer;
    const info = await tellingOf(this.server.info(signal), { clock, pollMs: poll_ms, onEvent, signal });
    if (info.kind !== "llama-server" || slot === null || slot >= info.slots) return;
    if (!this.#clean.has(slot)) {
      // A request that was cut off, by us or by a loopd that ended, may still run in the server; the next one must not meet it there.
      const limits = { pollMs: poll_ms, busyMs: busy_ms, loadingMs: loading_ms, idleMs: idle_ms };
      const taken = await waitForFreeSlot({ server: this.server, clock, slot, limits, onEvent, signal });
      signal.throwIfAborted();
      if (taken !== undefined) throw taken;
      this.#clean.add(slot);
    }
    const full = await this.#count.judge(request, slot, info.context, signal);
    if (full !== undefined) throw full;
  }

  #doubt(slot: number | null): void {
    if (slot !== null) this.#clean.delete(slot);
  }
}

function failed(error: ModelError): CompletionResult {
  return { kind: "failed", error };
}
