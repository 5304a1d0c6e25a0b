/** What the ledger's steps come to, for the calls that wait for them. */

import type { Ask, Decision } from "@boxmaker/policy";
import type { ApprovalId, AuditSeq, DenialReason } from "@boxmaker/proto";

/** A call that may run now: its decision is on disk. `release` must be called once its box has ended. */
export interface Dispatch {
  readonly kind: "run";
  readonly seq: AuditSeq;
  readonly decision: Decision;
  readonly mode: "allowed" | "ask";
  readonly release: () => void;
}

/** A call that may wait for an approval: its decision is on disk. `release` gives up its place among those that wait. */
export interface RecordedAsk {
  readonly kind: "ask";
  readonly id: ApprovalId;
  readonly ask: Ask;
  readonly release: () => void;
}

/** Nothing runs. */
export interface Denied {
  readonly kind: "denied";
  readonly reason: DenialReason;
}

/** `foreign`: the session is another kind of client's. `reused`: it has used this number for another call. Nothing was decided. */
export type Decided = Dispatch | RecordedAsk | Denied | { readonly kind: "foreign" | "reused" };

/**
 * What approving came to. `changed`: the call would now have another effect; `ask` is what would run now. `taken`: the ask waits no
 * more, or isn't what was shown any more.
 */
export type Answered = Dispatch | Denied | { readonly kind: "changed"; readonly ask: Ask } | { readonly kind: "taken" };

/** Who answered. `brokerd` itself ends what expired or whose requester left. */
export interface Answerer {
  readonly by: "bxctl" | "gateway" | "brokerd";
  readonly user: string | null;
}

/** What a call came to; `content` is what the model will be given. */
export interface CallResult {
  readonly status: "ok" | "failed";
  readonly content: string;
  readonly truncated: boolean;
  readonly elapsedMs: number;
}
