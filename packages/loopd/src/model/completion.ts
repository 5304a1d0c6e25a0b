/** What a completion is to the turn: its events while it comes, and the whole when it is there. */
import type { TurnEvent, Usage } from "@boxmaker/proto";
import type { ModelError } from "./model-error.ts";
import type { RawToolCall } from "./tool-call-assembly.ts";

type EventName = "queued" | "waiting" | "progress" | "reasoning" | "thinking_capped" | "text" | "discarded" | "retrying";

/** The turn events that a completion can cause. */
export type ModelEvent = Extract<TurnEvent, { readonly event: EventName }>;

/** Takes each event as it happens. Must not throw and must not wait. */
export type OnModelEvent = (event: ModelEvent) => void;

/** A reply that has ended cleanly. */
export interface Completion {
  readonly content: string;
  readonly reasoning: string;
  readonly toolCalls: readonly RawToolCall[];
  /** Whether the reply was cut at a length limit: its last call may look whole and isn't. */
  readonly cut: boolean;
  readonly usage: Usage;
  /** Tokens that the server took from its cache, where it counts them; null where it doesn't say. */
  readonly cacheHit: number | null;
  readonly thinkingCapped: boolean;
}

export type CompletionResult =
  | { readonly kind: "completed"; readonly completion: Completion }
  | { readonly kind: "failed"; readonly error: ModelError };

/** One request: its body's text, and the slot that it is pinned to, if the session has one. */
export interface CompletionRequest {
  readonly messages: readonly string[];
  readonly tools: string;
  readonly slot: number | null;
}
