/** Whether a request fits into the context, counted by the server before it is sent, and only where it might not. */
import { canonicalJson, parseShape, readForeignJson } from "@boxmaker/proto";
import { z } from "zod";
import type { CompletionRequest } from "./completion.ts";
import { HttpError } from "./http.ts";
import { CompletionError } from "./model-error.ts";
import type { ModelServer } from "./model-server.ts";

/** What a slot's last reply showed: a request of so many bytes had so many tokens. */
interface Known {
  readonly bytes: number;
  readonly tokens: number;
}

const Message = z.looseObject({ content: z.string().nullish() });

function bytesOf({ messages, tools }: CompletionRequest): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(message), Buffer.byteLength(tools));
}

/** The texts of the messages, without what a template puts around them: never more tokens than the whole. */
function textOf(messages: readonly string[]): string {
  return messages
    .map((message) => {
      const reading = readForeignJson(message);
      const parsed = reading.kind === "value" ? parseShape(Message, reading.value) : undefined;
      return parsed?.kind === "ok" ? (parsed.value.content ?? "") : "";
    })
    .join("");
}

/** Counts of one server. A token is at least a byte, so that most requests are known to fit without being counted. */
export class ContextCount {
  readonly #server: ModelServer;
  readonly #model: string;
  readonly #known = new Map<number, Known>();

  constructor(server: ModelServer, model: string) {
    this.#server = server;
    this.#model = model;
  }

  /** The request had `tokens` tokens, its reply included, which the next one on this slot begins with. */
  learn(request: CompletionRequest, slot: number, tokens: number): void {
    if (tokens > 0) this.#known.set(slot, { bytes: bytesOf(request), tokens });
  }

  /** @returns `context_full` when the server counts at least `context` tokens; undefined when it fits, or can't be counted */
  async judge(
    request: CompletionRequest,
    slot: number,
    context: number,
    signal: AbortSignal,
  ): Promise<CompletionError | undefined> {
    const bytes = bytesOf(request);
    const known = this.#known.get(slot);
    const most = known === undefined || known.bytes > bytes ? bytes : known.tokens + bytes - known.bytes;
    if (context === 0 || most < context) return undefined;
    const tools = request.tools === "[]" ? "" : `"tools":${request.tools},`;
    const body = `{"model":${canonicalJson(this.#model)},${tools}"messages":[${request.messages.join(",")}]}`;
    try {
      const counted = await this.#server.countTokens(body, textOf(request.messages), signal);
      if (counted.kind === "unknown" || counted.tokens < context) return undefined;
      const detail = `the conversation has ${counted.tokens} tokens and the model server's context ${context}`;
      return new CompletionError("context_full", detail);
    } catch (error) {
      // A server that doesn't count says by itself what doesn't fit.
      if (error instanceof HttpError) return undefined;
      throw error;
    }
  }
}
