/** Which failures may be tried again, and when. */
import { unreachable } from "@boxmaker/proto";
import type { ModelError } from "./model-error.ts";

const FIRST_MS = 250;
const LONGEST_MS = 8_000;

/**
 * Whether the same request may be sent again: only where the server went away. What it had said by then is no part of the session,
 * and nothing was done because of it: calls are made from whole replies alone.
 */
export function isRetryable(error: ModelError): boolean {
  switch (error.code) {
    case "unreachable":
    case "loading":
    case "closed_early":
      return true;
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
