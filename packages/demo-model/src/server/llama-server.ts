/** An HTTP server that speaks llama-server's API; what it answers to a chat request is decided by its owner. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { BodyWriter } from "../answer/body-writer.ts";
import type { Exchange } from "../answer/exchange.ts";
import { type Flavour, type PlayContext, playStream, playWhole } from "../answer/play.ts";
import { randomId } from "../answer/random-id.ts";
import type { Transcript } from "../answer/transcript.ts";
import { type ChatRequest, readChatRequest } from "../api/chat-request.ts";
import { errorBody, LOADING } from "../api/error-body.ts";
import { type CacheBehaviour, type Lease, Slots } from "../slots/slots.ts";
import { END_OF_MESSAGE, renderPrompt } from "../tokens/template.ts";
import { tokenize } from "../tokens/tokenize.ts";
import type { CannedAnswer, CannedRoutes } from "./canned.ts";
import { readBody, sendJson } from "./http-body.ts";
import { type AnswerEnd, type ControlRequest, Journal, type RecordedRequest, type Violation } from "./requests.ts";
import { answerAsRouter, type RouterState } from "./router.ts";
import { answerSimpleRoute, isPublicRoute, type RouteContext } from "./routes.ts";

/** Where a server listens: a loopback port (0 for any that is free) or a Unix socket. */
export type ListenAddress = { readonly kind: "tcp"; readonly port: number } | { readonly kind: "unix"; readonly path: string };

/** How the server takes a request to end a thought: `absent` knows no such route, `ignored` says yes and does nothing. */
export type ControlBehaviour = "ends-thought" | "ignored" | "refused" | "absent";

/** What a server is. */
export interface ServerSettings {
  readonly listen: ListenAddress;
  readonly modelName: string;
  readonly slots: number;
  readonly contextTokens: number;
  readonly apiKey: string | null;
  readonly flavour: Flavour;
  readonly control: ControlBehaviour;
  readonly cache: CacheBehaviour;
  /** The state of the one model behind a llama-server in router mode; null for one that isn't in it. */
  readonly router: RouterState | null;
  /** Decides first what is answered to any request but one for a completion. Must not throw. */
  readonly routes: CannedRoutes;
  /** Answers a request for a single token by itself: whoever wants one looks at the server, and isn't part of a conversation. */
  readonly probe: Exchange | null;
  /** Decides an answer; undefined is a violation and answered with an error. Must not throw. */
  readonly answer: (request: RecordedRequest) => Exchange | undefined | Promise<Exchange | undefined>;
}

type StreamExchange = Extract<Exchange, { readonly kind: "stream" }>;
type RefusalExchange = Extract<Exchange, { readonly kind: "refusal" }>;

/** What was sent of an answer, and how it ended. */
interface Played {
  readonly transcript: Transcript;
  readonly end: AnswerEnd;
}

/** A completion that is being written. */
interface Running {
  readonly mayEndThought: boolean;
  thoughtEnded: boolean;
}

/** A listening server. Disposing of it closes every connection. */
export class LlamaServer implements AsyncDisposable {
  readonly #settings: ServerSettings;
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch((error: unknown) => {
      // A fault of this program or of a test's script: the client sees its connection break, the test sees the fault.
      this.#faults.push(error);
      response.destroy();
    });
  });
  readonly #faults: unknown[] = [];
  readonly #running = new Map<string, Running>();
  readonly #unscripted: Violation[] = [];
  #arrived = 0;
  #probes = 0;
  /** The requests for completions. */
  readonly requests = new Journal<RecordedRequest>();
  /** Every request, as `METHOD /path?query`. */
  readonly seen = new Journal<string>();
  readonly controls = new Journal<ControlRequest>();
  readonly slots: Slots;
  /** While true, every route answers 503. */
  loading = false;

  constructor(settings: ServerSettings) {
    this.#settings = settings;
    this.slots = new Slots(settings.slots, settings.contextTokens, settings.cache);
  }

  async listen(): Promise<void> {
    const { listen } = this.#settings;
    this.#server.listen(listen.kind === "tcp" ? { host: "127.0.0.1", port: listen.port } : { path: listen.path });
    await once(this.#server, "listening");
  }

  /** `http://127.0.0.1:PORT`, or `unix:PATH`. */
  get url(): string {
    const address = this.#server.address();
    return typeof address === "string" || address === null ? `unix:${address ?? ""}` : `http://127.0.0.1:${address.port}`;
  }

  get violations(): readonly Violation[] {
    return [...this.slots.overlaps, ...this.#unscripted];
  }

  /** Closes everything. @throws {AggregateError} when answering a request failed by a fault of the script or the server */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    if (this.#faults.length > 0) {
      throw new AggregateError(this.#faults, "answer a request");
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const route = `${request.method} ${url.pathname}`;
    this.seen.add(`${request.method} ${request.url}`);
    const body = await readBody(request);
    const isCompletion = route === "POST /v1/chat/completions" || route === "POST /chat/completions";
    const canned = isCompletion ? undefined : this.#settings.routes(`${request.method} ${request.url}`);
    if (body === undefined) {
      response.destroy();
    } else if (canned !== undefined) {
      sendCanned(response, canned);
    } else if (this.loading) {
      sendJson(response, 503, LOADING);
    } else if (!isPublicRoute(url.pathname) && !this.#isAuthorized(request)) {
      sendJson(response, 401, errorBody(401, "Invalid API Key", "authentication_error"));
    } else if (isCompletion) {
      await this.#complete(request, body, response);
    } else {
      const answer = this.#answerSimple(url, route, body);
      sendJson(response, answer.status, answer.body);
    }
  }

  #answerSimple(url: URL, route: string, body: Buffer): { readonly status: number; readonly body: unknown } {
    const answer = (): { readonly status: number; readonly body: unknown } => answerSimpleRoute(route, body, this.#routeContext());
    const { router, modelName } = this.#settings;
    if (router === null) {
      return answer();
    }
    const routed = answerAsRouter(router, { url, route, body, modelName }, answer);
    if (routed.autoloads) {
      this.#unscripted.push({ kind: "autoload", route });
    }
    return routed;
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const { apiKey } = this.#settings;
    return apiKey === null || request.headers.authorization === `Bearer ${apiKey}` || request.headers["x-api-key"] === apiKey;
  }

  #routeContext(): RouteContext {
    const { modelName, flavour, control } = this.#settings;
    return {
      modelName,
      flavour,
      slots: this.slots,
      control: control === "absent" ? undefined : (wanted) => this.#controlThought(wanted),
    };
  }

  #controlThought(wanted: ControlRequest): object {
    this.controls.add(wanted);
    const running = this.#running.get(wanted.id);
    if (running === undefined) {
      return { success: false, message: "no active completion for this id" };
    }
    if (this.#settings.control === "refused" || !running.mayEndThought) {
      return { success: false, message: "reasoning control not enabled for this completion" };
    }
    running.thoughtEnded = this.#settings.control === "ends-thought";
    return { success: true };
  }

  async #complete(incoming: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const reading = readChatRequest(body);
    if (reading.kind === "refused") {
      sendJson(response, reading.status, reading.body);
      return;
    }
    const chat = reading.request;
    const gone = new AbortController();
    const ended = Promise.withResolvers<AnswerEnd>();
    response.once("close", () => gone.abort());
    const { probe } = this.#settings;
    if (probe?.kind === "stream" && chat.max_tokens === 1) {
      this.#probes += 1;
      const recorded = { index: -this.#probes, headers: incoming.headers, body, chat, ended: ended.promise };
      await this.#answer(probe, recorded, response, gone.signal, ended.resolve);
      return;
    }
    const index = this.#arrived;
    this.#arrived += 1;
    const recorded: RecordedRequest = { index, headers: incoming.headers, body, chat, ended: ended.promise };
    // Decided before anybody hears of the request, so that whoever does can count on its answer being under way.
    const decision = this.#settings.answer(recorded);
    this.requests.add(recorded);
    const exchange = await decision;
    if (exchange === undefined) {
      this.#unscripted.push({ kind: "unscripted", request: index });
    }
    const refusal = exchange?.kind === "stream" ? this.#overflow(chat) : (exchange ?? UNSCRIPTED);
    if (refusal !== undefined) {
      sendJson(response, refusal.status, refusal.body);
      ended.resolve("answered");
      return;
    }
    if (exchange?.kind === "stream") {
      await this.#answer(exchange, recorded, response, gone.signal, ended.resolve);
    }
  }

  async #answer(
    exchange: StreamExchange,
    { index, chat }: RecordedRequest,
    response: ServerResponse,
    signal: AbortSignal,
    ended: (end: AnswerEnd) => void,
  ): Promise<void> {
    const prompt = renderPrompt(chat);
    const idSlot = this.#settings.flavour === "llama-server" ? (chat.id_slot ?? undefined) : undefined;
    const lease = await this.slots.take(index, idSlot, prompt, signal);
    if (lease === undefined) {
      ended("client-gone");
      return;
    }
    const id = `chatcmpl-${randomId()}`;
    const running: Running = { mayEndThought: chat.reasoning_control === true, thoughtEnded: false };
    this.#running.set(id, running);
    let held = prompt;
    try {
      const played = await this.#play(exchange, response, this.#playContext(chat, id, lease, running, signal));
      held = `${prompt}${played.transcript.text()}${END_OF_MESSAGE}`;
      ended(played.end);
    } finally {
      this.#running.delete(id);
      await exchange.holdSlot;
      lease.release(held);
    }
  }

  #playContext(chat: ChatRequest, id: string, lease: Lease, running: Running, signal: AbortSignal): PlayContext {
    return {
      request: chat,
      identity: { id, model: chat.model ?? this.#settings.modelName, created: Math.floor(Date.now() / 1000) },
      flavour: this.#settings.flavour,
      cached: lease.cached,
      read: lease.read,
      thoughtEnded: () => running.thoughtEnded,
      signal,
    };
  }

  async #play(exchange: StreamExchange, response: ServerResponse, context: PlayContext): Promise<Played> {
    if (context.request.stream === true) {
      const headers = { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };
      const writer = new BodyWriter(response, headers, exchange);
      const transcript = await playStream(exchange.steps, writer, context);
      const end = response.writableEnded ? "answered" : writer.isCut ? "cut" : "client-gone";
      return { transcript, end };
    }
    const whole = await playWhole(exchange.steps, context);
    if (whole.body === undefined) {
      return { transcript: whole.transcript, end: "client-gone" };
    }
    sendJson(response, 200, whole.body);
    return { transcript: whole.transcript, end: "answered" };
  }

  #overflow(chat: ChatRequest): RefusalExchange | undefined {
    const tokens = tokenize(renderPrompt(chat)).length;
    const { contextTokens } = this.#settings;
    if (tokens < contextTokens) {
      return undefined;
    }
    const message = `request (${tokens} tokens) exceeds the available context size (${contextTokens} tokens), try increasing it`;
    const body = errorBody(400, message, "exceed_context_size_error", { n_prompt_tokens: tokens, n_ctx: contextTokens });
    return { kind: "refusal", status: 400, body };
  }
}

function sendCanned(response: ServerResponse, canned: CannedAnswer): void {
  if (canned === "hang-up") {
    response.destroy();
  } else {
    response.writeHead(canned.status, { "Content-Type": "application/json", ...canned.headers }).end(canned.body);
  }
}

const UNSCRIPTED: RefusalExchange = {
  kind: "refusal",
  status: 500,
  body: errorBody(500, "no answer was scripted for this request", "server_error"),
};
