/** What a failed completion is to the client of a turn. */
import { unreachable } from "@boxmaker/proto";
import type { ModelError } from "../model/model-error.ts";
import type { FailedTurn } from "./turn-outcome.ts";

function inference(error: ModelError, pointer: string): FailedTurn {
  return { kind: "failed", code: "inference", detail: `${error.detail}; ${pointer}` };
}

/** The turn's failure: a code for programs, and one line for the owner that ends with a runbook pointer. */
export function modelFailure(error: ModelError): FailedTurn {
  switch (error.code) {
    case "unreachable":
      return inference(error, "see docs/runbook.md#model-unreachable");
    case "loading":
    case "wait_timeout":
      return inference(error, "see docs/runbook.md#model-not-ready");
    case "closed_early":
    case "stalled":
    case "deadline":
      return inference(error, "see docs/runbook.md#model-reply-lost");
    case "bad_reply":
    case "server_error":
    case "reply_too_large":
      return inference(error, "see docs/runbook.md#model-reply-refused");
    case "thinking_overrun":
      return inference(error, "see docs/runbook.md#model-thinking-overrun");
    case "slot_missing":
      return inference(error, "see docs/runbook.md#slot-missing");
    case "busy":
      return { kind: "failed", code: "busy", detail: error.detail };
    case "context_full":
      return { kind: "failed", code: "session_full", detail: `${error.detail}; see docs/runbook.md#session-full` };
    case "cancelled":
      return { kind: "failed", code: "cancelled", detail: error.detail };
    default:
      return unreachable(error.code);
  }
}
