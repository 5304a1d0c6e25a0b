/** Builds a reply from the events of its stream. */
import { escapeText, parseShape, readForeignJson, type Usage } from "@boxmaker/proto";
import type { Completion, OnModelEvent } from "./completion.ts";
import { CompletionError } from "./model-error.ts";
import { readServerError } from "./server-error.ts";
import { Chunk } from "./server-messages.ts";
import { TextFeed } from "./text-feed.ts";
import { ToolCallAssembly } from "./tool-call-assembly.ts";

/** Most tokens are shorter: a piece of a thought that is longer is several tokens, from a server that sends them together. */
const LONGEST_TOKEN = 32;

/** What one event brought, for whoever watches the reply. */
export interface Step {
  /** The server's id of the reply, once it has said one. */
  readonly id: string | undefined;
  /** Tokens of thought in this event, about. */
  readonly thoughts: number;
}

interface Counts {
  readonly usage: Usage;
  readonly cacheHit: number | null;
}

/** Everything of one reply that has come so far. */
export class Assembler {
  readonly #onEvent: OnModelEvent;
  readonly #maxBytes: number;
  readonly #content: TextFeed;
  readonly #reasoning: TextFeed;
  readonly #calls = new ToolCallAssembly();
  #size = 0;
  #id: string | undefined;
  #finish: string | undefined;
  #usage: Chunk["usage"];
  #timings: Chunk["timings"];

  /** @param maxBytes bound on content, thought and calls together, in UTF-16 units */
  constructor(maxBytes: number, onEvent: OnModelEvent) {
    this.#maxBytes = maxBytes;
    this.#onEvent = onEvent;
    this.#content = new TextFeed((text) => onEvent({ event: "text", text }));
    this.#reasoning = new TextFeed((text) => onEvent({ event: "reasoning", text }));
  }

  /** Whether any part of the reply has come that a second request would say again. */
  get hadOutput(): boolean {
    return this.#size > 0 || this.#calls.started;
  }

  /** Whether the answer itself has begun, so that the thinking is over. */
  get answering(): boolean {
    return !this.#content.isEmpty || this.#calls.started;
  }

  /** @throws {CompletionError} when the event is an error, isn't one of a completion, or makes the reply too large */
  push(data: string): Step {
    const reading = readForeignJson(data);
    if (reading.kind === "invalid") throw this.#bad("an event is not JSON");
    const parsed = parseShape(Chunk, reading.value);
    if (parsed.kind === "invalid") throw this.#bad(`an event has the wrong shape: ${parsed.problem}`);
    const chunk = parsed.value;
    if (chunk.error !== undefined && chunk.error !== null) {
      const { code, detail } = readServerError(200, { error: chunk.error });
      throw new CompletionError(code, detail, { hadOutput: this.hadOutput });
    }
    if (chunk.id !== null && chunk.id !== undefined && chunk.id !== "") this.#id = chunk.id;
    if (chunk.usage) this.#usage = chunk.usage;
    if (chunk.timings) this.#timings = chunk.timings;
    if (chunk.prompt_progress) {
      const { processed, total } = chunk.prompt_progress;
      this.#onEvent({ event: "progress", done: processed, total });
    }
    let thoughts = 0;
    for (const choice of chunk.choices ?? []) {
      if ((choice.index ?? 0) !== 0) continue;
      thoughts += this.#pushDelta(choice.delta);
      if (choice.finish_reason) this.#finish = choice.finish_reason;
    }
    return { id: this.#id, thoughts };
  }

  /** The whole reply, after the stream's clean end. @throws {CompletionError} `closed_early` when it never said why it ended */
  finish(thinkingCapped: boolean): Completion {
    if (this.#finish === undefined) {
      throw new CompletionError("closed_early", "the reply ended without saying why", { hadOutput: this.hadOutput });
    }
    this.#content.end();
    this.#reasoning.end();
    return {
      content: this.#content.text,
      reasoning: this.#reasoning.text,
      toolCalls: this.#calls.finish(),
      cut: this.#finish === "length",
      ...this.#count(),
      thinkingCapped,
    };
  }

  #pushDelta(delta: NonNullable<NonNullable<Chunk["choices"]>[number]>["delta"]): number {
    if (!delta) return 0;
    const thought = delta.reasoning_content ?? delta.reasoning ?? "";
    const content = delta.content ?? "";
    let size = thought.length + content.length;
    for (const piece of delta.tool_calls ?? []) size += this.#calls.push(piece);
    this.#size += size;
    if (this.#size > this.#maxBytes) {
      throw new CompletionError("reply_too_large", `the reply is larger than ${this.#maxBytes}`, { hadOutput: true });
    }
    this.#reasoning.push(thought);
    this.#content.push(content);
    return Math.ceil(thought.length / LONGEST_TOKEN);
  }

  #count(): Counts {
    const timings = this.#timings;
    const usage = this.#usage;
    if (timings) {
      const cached = timings.cache_n ?? 0;
      return {
        usage: { prompt: cached + timings.prompt_n, completion: timings.predicted_n, cached },
        cacheHit: timings.cache_n ?? null,
      };
    }
    if (usage) {
      const cached = usage.prompt_tokens_details?.cached_tokens ?? null;
      return { usage: { prompt: usage.prompt_tokens, completion: usage.completion_tokens, cached }, cacheHit: null };
    }
    return { usage: { prompt: 0, completion: 0, cached: null }, cacheHit: null };
  }

  #bad(detail: string): CompletionError {
    return new CompletionError("bad_reply", escapeText(detail), { hadOutput: this.hadOutput });
  }
}
