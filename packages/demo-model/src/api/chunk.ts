/** The JSON of a stream's events, as llama-server writes them. */

/** A piece of a tool call in a delta. */
export interface CallPiece {
  readonly index: number;
  readonly id?: string;
  readonly type?: "function";
  readonly function: { readonly name?: string; readonly arguments?: string };
}

/** What one event adds to the reply. */
export interface Delta {
  readonly role?: "assistant";
  readonly content?: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly CallPiece[];
}

/** Why a reply ended. */
export type FinishReason = "stop" | "tool_calls" | "length";

/** What is the same in every event of one reply. */
export interface ChunkIdentity {
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
}

/** How many tokens were found in the cache, read, and written. */
export interface TokenCounts {
  readonly cached: number;
  readonly read: number;
  readonly written: number;
}

/** Keys that only some events have: `timings`, `usage`, `prompt_progress`. */
export type ChunkExtras = Readonly<Record<string, unknown>>;

/** An event with a piece of the reply. */
export function deltaChunk(identity: ChunkIdentity, delta: Delta, finish: FinishReason | null, extras: ChunkExtras): object {
  return { choices: [{ finish_reason: finish, index: 0, delta }], ...common(identity), ...extras };
}

/** The event after the last piece, for a request that asked for usage. */
export function usageChunk(identity: ChunkIdentity, extras: ChunkExtras): object {
  return { choices: [], ...common(identity), ...extras };
}

/** The whole reply in one body, for a request without a stream. */
export function completionBody(identity: ChunkIdentity, message: object, finish: FinishReason, extras: ChunkExtras): object {
  return { choices: [{ finish_reason: finish, index: 0, message }], ...common(identity), object: "chat.completion", ...extras };
}

function common(identity: ChunkIdentity): object {
  return {
    created: identity.created,
    id: identity.id,
    model: identity.model,
    system_fingerprint: "demo-model",
    object: "chat.completion.chunk",
  };
}

/** The `usage` object. */
export function usage(counts: TokenCounts): object {
  const prompt = counts.cached + counts.read;
  return {
    completion_tokens: counts.written,
    prompt_tokens: prompt,
    total_tokens: prompt + counts.written,
    prompt_tokens_details: { cached_tokens: counts.cached },
  };
}

/** The `timings` object. Times are nominal, a millisecond a token, and a rate of nothing is null, as in the original. */
export function timings(counts: TokenCounts): object {
  const rate = (tokens: number): number | null => (tokens === 0 ? null : 1000);
  return {
    cache_n: counts.cached,
    prompt_n: counts.read,
    prompt_ms: counts.read,
    prompt_per_token_ms: 1,
    prompt_per_second: rate(counts.read),
    predicted_n: counts.written,
    predicted_ms: counts.written,
    predicted_per_token_ms: 1,
    predicted_per_second: rate(counts.written),
  };
}
