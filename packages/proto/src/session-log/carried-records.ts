/** What the next epoch of a session begins with. */
import type { EpochEnd, SessionRecord } from "./session-record.ts";

/**
 * The records that an epoch hands on to the next one, as its end says.
 *
 * @param records those of the epoch that ends, with its end or without
 * @returns without figures of the model server's cache, which say nothing about the next epoch
 */
export function carriedRecords(records: readonly SessionRecord[], carry: EpochEnd["carry"]): readonly SessionRecord[] {
  const from = records.findLastIndex(({ kind }) => kind === "user");
  if (carry === "nothing" || from === -1) return [];
  if (carry === "message") return records.slice(from, from + 1);
  return records.slice(from).filter(({ kind }) => kind !== "usage" && kind !== "cache_loss" && kind !== "epoch_end");
}
