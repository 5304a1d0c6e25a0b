/** One completion from its request to its clean end: every wait bounded, the first cause of a failure kept. */
import type { Clock } from "@boxmaker/edge/log";
import { escapeText, readForeignJson } from "@boxmaker/proto";
import { Watchdog } from "../clock/watchdog.ts";
import type { ConfigFile } from "../config/config-file.ts";
import { Assembler } from "./assemble.ts";
import type { Completion, CompletionRequest, OnModelEvent } from "./completion.ts";
import { readEvents } from "./event-stream.ts";
import { tellingOf, waitForHead } from "./head-wait.ts";
import { HttpError, type ModelHttp, type OpenReply, readText } from "./http.ts";
import { CompletionError } from "./model-error.ts";
import type { ModelServer, ServerInfo } from "./model-server.ts";
import { type BodySettings, buildBody } from "./request-body.ts";
import { readServerError } from "./server-error.ts";
import { ThinkingCap } from "./thinking-cap.ts";

export interface StreamSettings extends BodySettings {
  readonly infer: ConfigFile["infer"];
  readonly thinkingOverrun: number;
  readonly replyBytes: number;
}

export interface StreamContext {
  readonly http: ModelHttp;
  readonly server: ModelServer;
  readonly clock: Clock;
  readonly settings: StreamSettings;
}

const MAX_ERROR_BODY = 64 * 1024;
/** Room for JSON's escapes and the keys around one piece of a reply. */
const EVENT_FACTOR = 8;
const EVENT_ROOM = 64 * 1024;

/** One attempt. Owns the request's signal: whatever aborts it first is the cause that is reported. */
class Attempt implements Disposable {
  readonly #context: StreamContext;
  readonly #onEvent: OnModelEvent;
  readonly #controller = new AbortController();
  readonly #assembler: Assembler;
  readonly #outer: AbortSignal;
  readonly #cancel = (): void => this.#fail("cancelled", "the turn was cancelled");

  constructor(context: StreamContext, onEvent: OnModelEvent, signal: AbortSignal) {
    this.#context = context;
    this.#onEvent = onEvent;
    this.#outer = signal;
    this.#assembler = new Assembler(context.settings.replyBytes, onEvent);
    signal.addEventListener("abort", this.#cancel, { once: true });
    if (signal.aborted) this.#cancel();
  }

  [Symbol.dispose](): void {
    this.#outer.removeEventListener("abort", this.#cancel);
    // Closes the connection, which is how a server is told to stop.
    this.#controller.abort();
  }

  async run(server: ServerInfo, request: CompletionRequest): Promise<Completion> {
    const { clock, settings } = this.#context;
    using _deadline = new Watchdog(clock, settings.infer.completion_ms, () => this.#fail("deadline", "the reply took too long"));
    try {
      const reply = await this.#head(server, request, buildBody(settings, server, request));
      return await this.#read(server, reply);
    } catch (error) {
      throw this.#translate(error);
    }
  }

  async #head(server: ServerInfo, request: CompletionRequest, body: string): Promise<OpenReply> {
    const { http, clock, settings } = this.#context;
    const { infer } = settings;
    const arrived = new AbortController();
    const opening = http.open("/v1/chat/completions", body, this.#controller.signal);
    if (server.kind === "llama-server" && request.slot !== null) {
      const limits = { pollMs: infer.poll_ms, busyMs: infer.busy_ms, loadingMs: infer.loading_ms, idleMs: infer.idle_ms };
      const signal = AbortSignal.any([arrived.signal, this.#controller.signal]);
      waitForHead({ server: this.#context.server, clock, slot: request.slot, limits, onEvent: this.#onEvent, signal }).then(
        (error) => error !== undefined && this.#controller.abort(error),
        (error: unknown) => this.#controller.abort(error),
      );
      try {
        return await opening;
      } finally {
        arrived.abort();
      }
    }
    using _head = new Watchdog(clock, infer.head_ms, () => this.#fail("wait_timeout", "the reply didn't begin in time"));
    return await tellingOf(opening, { clock, pollMs: infer.poll_ms, onEvent: this.#onEvent, signal: this.#controller.signal });
  }

  async #read(server: ServerInfo, reply: OpenReply): Promise<Completion> {
    const { clock, settings } = this.#context;
    const { infer } = settings;
    using bytes = new Watchdog(clock, infer.liveness_ms, () => this.#fail("stalled", "the model server fell silent"));
    using progress = new Watchdog(clock, infer.progress_ms, () => this.#fail("stalled", "the reply made no progress"));
    if (reply.status !== 200) throw await refusal(reply);
    if (!/^text\/event-stream\b/iu.test(reply.contentType)) {
      const type = escapeText(reply.contentType.slice(0, 100));
      throw new CompletionError("bad_reply", `expected a stream of events, got content of type "${type}"`);
    }
    const cap = new ThinkingCap(settings.thinkingCap, settings.thinkingOverrun);
    const maxEvent = settings.replyBytes * EVENT_FACTOR + EVENT_ROOM;
    for await (const data of readEvents(touching(reply.body, bytes), maxEvent)) {
      if (data === "[DONE]") return this.#assembler.finish(cap.reached);
      progress.touch();
      const { id, thoughts } = this.#assembler.push(data);
      switch (this.#assembler.answering ? "none" : cap.count(thoughts)) {
        case "ask":
          this.#endThought(server, id);
          break;
        case "stop":
          throw new CompletionError("thinking_overrun", "the model didn't stop thinking", { hadOutput: true });
        case "none":
      }
    }
    throw new CompletionError("closed_early", "the reply was cut off");
  }

  /** Asks in the background: whether the thought ends is in the stream. A server that says no has had its chance. */
  #endThought(server: ServerInfo, id: string | undefined): void {
    if (server.kind !== "llama-server" || id === undefined) return;
    this.#onEvent({ event: "thinking_capped" });
    const { server: model, settings } = this.#context;
    model.endReasoning(id, settings.model, this.#controller.signal).then(
      (agreed) => {
        if (!agreed && !this.#assembler.answering) this.#fail("thinking_overrun", "the model server wouldn't end the thought");
      },
      (error: unknown) => this.#controller.abort(error),
    );
  }

  #fail(code: "cancelled" | "deadline" | "stalled" | "thinking_overrun" | "wait_timeout", detail: string): void {
    this.#controller.abort(new CompletionError(code, detail));
  }

  /** The first cause as a CompletionError that knows whether anything was passed on. */
  #translate(error: unknown): CompletionError {
    const { hadOutput } = this.#assembler;
    const cause: unknown = this.#controller.signal.aborted ? this.#controller.signal.reason : error;
    if (cause instanceof CompletionError) return new CompletionError(cause.error.code, cause.error.detail, { hadOutput, cause });
    if (!(cause instanceof HttpError)) throw cause;
    if (cause.failure === "unreachable")
      return new CompletionError("unreachable", "nothing serves on the model's socket", { cause });
    const detail = cause.failure === "bad" ? "the reply is no HTTP" : "the connection to the model server was lost";
    return new CompletionError(cause.failure === "bad" ? "bad_reply" : "closed_early", detail, { hadOutput, cause });
  }
}

async function* touching(body: AsyncIterable<Uint8Array>, watchdog: Watchdog): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body) {
    watchdog.touch();
    yield piece;
  }
}

async function refusal(reply: OpenReply): Promise<CompletionError> {
  const text = await readText(reply.body, MAX_ERROR_BODY);
  const reading = readForeignJson(text ?? "");
  const { code, detail } = readServerError(reply.status, reading.kind === "value" ? reading.value : undefined);
  return new CompletionError(code, detail);
}

/**
 * Sends one request and reads its reply to the clean end: a finish reason and `[DONE]`. Aborting the signal closes the request.
 *
 * @throws {CompletionError} for everything that a server, a connection or a limit can do
 */
export async function streamCompletion(
  context: StreamContext,
  request: CompletionRequest,
  onEvent: OnModelEvent,
  signal: AbortSignal,
): Promise<Completion> {
  const info = await context.server.info(signal);
  if (info.kind === "llama-server" && request.slot !== null && request.slot >= info.slots) {
    const detail = `the session is bound to slot ${request.slot}, the model server has ${info.slots}`;
    throw new CompletionError("slot_missing", detail);
  }
  using attempt = new Attempt(context, onEvent, signal);
  return await attempt.run(info, request);
}
