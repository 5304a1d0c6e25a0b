/** Which failures may be tried again, and when. */
import { unreachable } from "@boxmaker/proto";
import type { ModelError } from "./model-error.ts";

const FIRST_MS = 250;
const LONGEST_MS = 8_000;

/** Whether the same request may be sent again: only where the server went away before it said anything. */
export function isRetryable(error: ModelError): boolean {
  switch (error.code) {
    case "unreachable":
    case "loading":
      return true;
    case "closed_early":
      return !error.hadOutput;
    case "stalled":
    case "wait_timeout":
    case "deadline":
    case "bad_reply":
    case "server_error":
    case "context_full":
    case "reply_too_large":
    case "thinking_overrun":
    case "busy":
    case "slot_missing":
    case "cancelled":
      return false;
    default:
      return unreachable(error.code);
  }
}

/**
 * How long to wait before try number `attempt` (from 1) is made again: doubling, with a jitter of a half either way.
 *
 * @param random in 0..1
 */
export function backoffMs(attempt: number, random: number): number {
  const base = Math.min(FIRST_MS * 2 ** Math.min(attempt - 1, 16), LONGEST_MS);
  return Math.round(base * (0.5 + random));
}
