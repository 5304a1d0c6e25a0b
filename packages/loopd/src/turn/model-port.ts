/** What a turn needs of the model. */
import type { CompletionRequest, CompletionResult, OnModelEvent } from "../model/completion.ts";

/** Where replies come from. */
export interface ModelPort {
  complete(request: CompletionRequest, onEvent: OnModelEvent, signal: AbortSignal): Promise<CompletionResult>;
  /** Tokens that a conversation may have; null where the server doesn't say. Never rejects. */
  contextTokens(signal: AbortSignal): Promise<number | null>;
}
