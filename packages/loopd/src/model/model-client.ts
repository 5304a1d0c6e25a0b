/** The model, as a turn sees it: one completion at a time per slot, waiting and trying again where that is safe. */
import type { Clock } from "@boxmaker/edge/log";
import type { CompletionRequest, CompletionResult, OnModelEvent } from "./completion.ts";
import { ModelHttp } from "./http.ts";
import { CompletionError, type ModelError } from "./model-error.ts";
import { ModelServer } from "./model-server.ts";
import { backoffMs, isRetryable } from "./retry.ts";
import { type Permit, SlotGate } from "./slot-gate.ts";
import { type StreamContext, type StreamSettings, streamCompletion } from "./stream-completion.ts";

export interface ModelDependencies {
  readonly clock: Clock;
  /** In 0..1. */
  readonly random: () => number;
}

/** A slot whose last request was cut off counts as free when the server says so, or after this many milliseconds. */
const SETTLE_MS = 30_000;
const SETTLE_POLL_MS = 50;

/** Completions from one server. Disposing closes every request. */
export class ModelClient implements AsyncDisposable {
  readonly server: ModelServer;
  readonly #http: ModelHttp;
  readonly #gate: SlotGate;
  readonly #settings: StreamSettings;
  readonly #dependencies: ModelDependencies;
  readonly #stop = new AbortController();
  readonly #settling = new Set<Promise<void>>();

  constructor(socketPath: string, settings: StreamSettings, dependencies: ModelDependencies) {
    this.#http = new ModelHttp(socketPath, settings.infer.connect_ms);
    this.server = new ModelServer(this.#http, settings.infer.server);
    this.#gate = new SlotGate(settings.infer.queue);
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
    await Promise.allSettled(this.#settling);
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
    const started = clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      const result = await this.#attempt(request, onEvent, signal).catch((error: unknown) => {
        // A bug, reported by whoever runs the turn; the slot must not stay taken for it.
        this.#releaseWhenIdle(request.slot, permit);
        throw error;
      });
      if (result.kind === "completed") {
        permit.release();
        return result;
      }
      const { error } = result;
      const afterMs = backoffMs(attempt, random());
      const inWindow = clock.monotonic() - started + afterMs <= retry_window_ms;
      if (!isRetryable(error) || attempt >= retry_attempts || !inWindow || signal.aborted) {
        this.#releaseWhenIdle(request.slot, permit);
        return result;
      }
      onEvent({ event: "retrying", attempt, after_ms: afterMs, error: error.detail });
      this.server.forget();
      await clock.sleep(afterMs, signal).catch(() => undefined);
      if (error.code === "closed_early") await this.#settle(request.slot, signal);
    }
  }

  async #attempt(request: CompletionRequest, onEvent: OnModelEvent, signal: AbortSignal): Promise<CompletionResult> {
    const { clock } = this.#dependencies;
    const context: StreamContext = { http: this.#http, server: this.server, clock, settings: this.#settings };
    try {
      return { kind: "completed", completion: await streamCompletion(context, request, onEvent, signal) };
    } catch (error) {
      if (signal.aborted) return failed({ code: "cancelled", detail: "the turn was cancelled", hadOutput: true });
      if (error instanceof CompletionError) return failed(error.error);
      throw error;
    }
  }

  /** A request that was cut off may still run inside the server; the next one must not meet it there. */
  #releaseWhenIdle(slot: number | null, permit: Permit): void {
    const settling = this.#settle(slot, this.#stop.signal)
      .catch(() => undefined)
      .finally(() => {
        permit.release();
        this.#settling.delete(settling);
      });
    this.#settling.add(settling);
  }

  async #settle(slot: number | null, signal: AbortSignal): Promise<void> {
    if (slot === null || this.server.hasNoSlots) return;
    const { clock } = this.#dependencies;
    const started = clock.monotonic();
    while (!signal.aborted && clock.monotonic() - started < SETTLE_MS) {
      if ((await this.server.slotState(slot, signal)) !== "busy") return;
      await clock.sleep(SETTLE_POLL_MS, signal).catch(() => undefined);
    }
  }
}

function failed(error: ModelError): CompletionResult {
  return { kind: "failed", error };
}
