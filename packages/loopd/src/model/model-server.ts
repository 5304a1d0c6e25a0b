/** What the model server is and what it says about itself: asked, never assumed from a version. */
import { canonicalJson, parseShape, sha256 } from "@boxmaker/proto";
import { HttpError, type ModelHttp, type SmallReply } from "./http.ts";
import { CompletionError } from "./model-error.ts";
import { readServerError } from "./server-error.ts";
import { ControlAnswer, Props, SlotList, TokenCount, Tokens } from "./server-messages.ts";

/** A server with slots and a cache we can see, or one that only speaks the common API. */
export type ServerInfo =
  | {
      readonly kind: "llama-server";
      readonly slots: number;
      /** Tokens of context in each slot. */
      readonly context: number;
      readonly templateSha256: string;
      readonly build: string;
    }
  | { readonly kind: "openai" };

export type ServerKind = "auto" | ServerInfo["kind"];

/** What one slot is doing; `away`: the server didn't answer or isn't ready; `unknown`: it doesn't show its slots. */
export type SlotState = "busy" | "idle" | "away" | "unknown";

const ASK_TIMEOUT_MS = 10_000;
const NOT_IMPLEMENTED = 501;

/** Whether a tokenised text was counted by the server's chat template, its tokenizer, or not at all. */
export type Counted = { readonly kind: "templated" | "plain"; readonly tokens: number } | { readonly kind: "unknown" };

/** The small requests to the model server. */
export class ModelServer {
  readonly #http: ModelHttp;
  readonly #configured: ServerKind;
  #known: ServerInfo | undefined;

  constructor(http: ModelHttp, configured: ServerKind) {
    this.#http = http;
    this.#configured = configured;
  }

  /**
   * What the server is: asked once and remembered until {@link ModelServer.forget}.
   *
   * @throws {CompletionError} when it can't be asked, or isn't what the config says
   */
  async info(signal: AbortSignal): Promise<ServerInfo> {
    if (this.#configured === "openai") return { kind: "openai" };
    this.#known ??= await this.#probe(signal);
    return this.#known;
  }

  /** Whether the server is known to have no slots, so that requests need not wait for one another. */
  get hasNoSlots(): boolean {
    return this.#configured === "openai" || this.#known?.kind === "openai";
  }

  /** The server went away: what answers next may be another one. */
  forget(): void {
    this.#known = undefined;
  }

  /** What the slot is doing now. Never throws. */
  async slotState(slot: number, signal: AbortSignal): Promise<SlotState> {
    let reply: SmallReply;
    try {
      reply = await this.#ask("GET", "/slots", null, signal);
    } catch {
      // Whatever keeps it from answering, it is away for now; the caller's clock bounds how long.
      return "away";
    }
    if (reply.status === 502 || reply.status === 503) return "away";
    if (reply.status !== 200 || reply.json.kind === "invalid") return "unknown";
    const parsed = parseShape(SlotList, reply.json.value);
    if (parsed.kind === "invalid") return "unknown";
    const found = parsed.value.find(({ id }) => id === slot);
    if (found === undefined) return "unknown";
    return found.is_processing ? "busy" : "idle";
  }

  /**
   * Asks the server to end the thought of a reply. `false`: it said no, or can't.
   *
   * `true` is no promise: the stream tells whether the answer begins.
   */
  async endReasoning(id: string, model: string, signal: AbortSignal): Promise<boolean> {
    const body = canonicalJson({ id, action: "reasoning_end", model });
    try {
      const reply = await this.#ask("POST", "/v1/chat/completions/control", body, signal);
      if (reply.status !== 200 || reply.json.kind === "invalid") return false;
      const parsed = parseShape(ControlAnswer, reply.json.value);
      return parsed.kind === "ok" && parsed.value.success;
    } catch {
      // A server that doesn't answer hasn't ended the thought; the caller stops the request after the overrun.
      return false;
    }
  }

  /** Counts the tokens of a request with these messages and tools, or of the text alone where the server can't. */
  async countTokens(chatBody: string, text: string, signal: AbortSignal): Promise<Counted> {
    const templated = await this.#ask("POST", "/v1/chat/completions/input_tokens", chatBody, signal);
    if (templated.status === 200 && templated.json.kind === "value") {
      const parsed = parseShape(TokenCount, templated.json.value);
      if (parsed.kind === "ok") return { kind: "templated", tokens: parsed.value.input_tokens };
    }
    const plain = await this.#ask("POST", "/tokenize", canonicalJson({ content: text }), signal);
    if (plain.status !== 200 || plain.json.kind === "invalid") return { kind: "unknown" };
    const parsed = parseShape(Tokens, plain.json.value);
    return parsed.kind === "ok" ? { kind: "plain", tokens: parsed.value.tokens.length } : { kind: "unknown" };
  }

  async #ask(method: "GET" | "POST", path: string, body: string | null, signal: AbortSignal): Promise<SmallReply> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(ASK_TIMEOUT_MS)]);
    return await this.#http.ask({ method, path, body, signal: bounded });
  }

  async #probe(signal: AbortSignal): Promise<ServerInfo> {
    let reply: SmallReply;
    try {
      reply = await this.#ask("GET", "/props", null, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof HttpError)) throw error;
      const detail = error.failure === "unreachable" ? "nothing serves on the model's socket" : "the model server didn't answer";
      throw new CompletionError("unreachable", detail, { cause: error });
    }
    const body = reply.json.kind === "value" ? reply.json.value : undefined;
    if (reply.status >= 500 && reply.status !== NOT_IMPLEMENTED) {
      // Says nothing about what the server is, so nothing is remembered of it.
      const { code, detail } = readServerError(reply.status, body);
      throw new CompletionError(code, detail);
    }
    const props = reply.status === 200 ? parseShape(Props, body) : undefined;
    if (props?.kind !== "ok") {
      if (this.#configured === "auto") return { kind: "openai" };
      throw new CompletionError("server_error", 'expected a llama-server (infer.server = "llama-server"), got another server');
    }
    const { total_slots, default_generation_settings, chat_template, build_info } = props.value;
    return {
      kind: "llama-server",
      slots: total_slots,
      context: default_generation_settings.n_ctx,
      templateSha256: sha256(chat_template ?? ""),
      build: build_info ?? "",
    };
  }
}
