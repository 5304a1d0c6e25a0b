/** Questions that only the self-test asks. None of them makes a router load a model, which could end another that is streaming. */
import { canonicalJson, parseShape, sha256 } from "@boxmaker/proto";
import { z } from "zod";
import type { ModelHttp, SmallReply } from "../model/http.ts";
import { Props, Tokens } from "../model/server-messages.ts";
import type { LlamaInfo } from "./check-props.ts";

/** For each question. */
const ASK_TIMEOUT_MS = 10_000;

const RouterProps = z.looseObject({ role: z.literal("router") });
const HeldSlots = z.array(z.looseObject({ is_processing: z.boolean(), n_prompt_tokens: z.number().nullish() }));

/** What the slots hold; `hidden` with the status of a server that doesn't show them. */
export type SlotUse = { readonly kind: "empty" | "in-use" } | { readonly kind: "hidden"; readonly status: number };

/** What a router says of a model: what it would say alone, or that it isn't loaded. */
export type RoutedModel = { readonly kind: "loaded"; readonly info: LlamaInfo } | { readonly kind: "not-loaded" };

/** The self-test's own requests. @throws {HttpError} */
export class ServerQuestions {
  readonly #http: ModelHttp;
  readonly #signal: AbortSignal;

  constructor(http: ModelHttp, signal: AbortSignal) {
    this.#http = http;
    this.#signal = signal;
  }

  /**
   * Whether any slot holds a conversation, or works on one.
   *
   * @param spareTokens what a slot may hold that nobody misses, such as an earlier self-test's prompt
   */
  async slotUse(spareTokens: number): Promise<SlotUse> {
    const { status, json } = await this.#ask("GET", "/slots?autoload=false", null);
    const parsed = status === 200 && json.kind === "value" ? parseShape(HeldSlots, json.value) : undefined;
    if (parsed?.kind !== "ok") return { kind: "hidden", status };
    const holds = parsed.value.some((slot) => slot.is_processing || (slot.n_prompt_tokens ?? 0) > spareTokens);
    return { kind: holds ? "in-use" : "empty" };
  }

  /** Whether the server is a llama-server's router. */
  async isRouter(): Promise<boolean> {
    const { status, json } = await this.#ask("GET", "/props?autoload=false", null);
    return status === 200 && json.kind === "value" && RouterProps.safeParse(json.value).success;
  }

  async routedModel(model: string): Promise<RoutedModel> {
    const { status, json } = await this.#ask("GET", `/props?model=${encodeURIComponent(model)}&autoload=false`, null);
    const parsed = status === 200 && json.kind === "value" ? parseShape(Props, json.value) : undefined;
    if (parsed?.kind !== "ok") return { kind: "not-loaded" };
    const { total_slots, default_generation_settings, chat_template, build_info } = parsed.value;
    const info: LlamaInfo = {
      kind: "llama-server",
      slots: total_slots,
      context: default_generation_settings.n_ctx,
      templateSha256: sha256(chat_template ?? ""),
      build: build_info ?? "",
    };
    return { kind: "loaded", info };
  }

  /** The tokens of a text, without the chat template; undefined where the router doesn't count them. */
  async routedTokens(model: string, text: string): Promise<number | undefined> {
    const { status, json } = await this.#ask("POST", "/tokenize?autoload=false", canonicalJson({ content: text, model }));
    const parsed = status === 200 && json.kind === "value" ? parseShape(Tokens, json.value) : undefined;
    return parsed?.kind === "ok" ? parsed.value.tokens.length : undefined;
  }

  async #ask(method: "GET" | "POST", path: string, body: string | null): Promise<SmallReply> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(ASK_TIMEOUT_MS)]);
    return await this.#http.ask({ method, path, body, signal });
  }
}
