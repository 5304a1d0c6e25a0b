/** Whether the server still had what the last request left in its cache. */
import type { SessionRecord } from "@boxmaker/proto";
import type { Completion } from "../model/completion.ts";

/** Tokens that should have been in the cache, and those that were. */
export interface CacheLoss {
  readonly expected: number;
  readonly cached: number;
}

/**
 * Compares a reply's cache hit with what the reply before it left behind, as the log has it: a restart forgets nothing.
 *
 * @param records those before this reply
 * @param tolerance tokens that a template may write differently the second time
 * @returns undefined where nothing was lost, or where it can't be told
 */
export function findCacheLoss(
  records: readonly SessionRecord[],
  { cacheHit }: Completion,
  tolerance: number,
): CacheLoss | undefined {
  if (cacheHit === null) return undefined;
  const last = records.findLast((record) => record.kind === "usage");
  const reply = records.findLast((record) => record.kind === "assistant");
  if (last === undefined || last.usage.cached === null) return undefined;
  // The server reads a capped thought again: its end was forced, and isn't what the template writes.
  const left = last.usage.prompt + (reply?.thinking_capped === true ? 0 : last.usage.completion);
  return cacheHit + tolerance >= left ? undefined : { expected: left, cached: cacheHit };
}
