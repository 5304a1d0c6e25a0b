/** What a turn needs of whoever decides on and runs tool calls. */
import type { BrokerAnswer, CallId, SessionId, ToolOutcome } from "@boxmaker/proto";

/** What brokerd says when it asks the owner. */
export type Pending = Extract<BrokerAnswer, { readonly kind: "pending_approval" }>["body"];

/** One call on its way out. `turn` is the number of its turn's first call; `arguments` is JSON text. */
export interface ToolPortRequest {
  readonly session: SessionId;
  readonly call: CallId;
  readonly turn: CallId;
  readonly tool: string;
  readonly arguments: string;
}

/** How a call ended; `cancelled`: given up by the turn while the owner was being asked. */
export type ToolEnd = ToolOutcome | { readonly outcome: "cancelled" };

export interface ToolPortOptions {
  /** Called once when the owner is asked. Must not throw and must not wait. */
  readonly onPending: (pending: Pending) => void;
  /** Aborting gives up a call that waits for the owner; one that may be running is waited for. */
  readonly signal: AbortSignal;
}

export interface ToolPort {
  /** Never rejects: what goes wrong is a `failed` outcome with a fixed sentence. */
  call(request: ToolPortRequest, options: ToolPortOptions): Promise<ToolEnd>;
}

/** The port of a loopd without a `[broker]`. */
export const NO_BROKER: ToolPort = {
  call: async () => ({ outcome: "failed", message: "Failed: no tool broker is configured, so no tool can run." }),
};
