/** Whether a conversation still leaves room for a reply, judged before it is sent. */
import type { SessionRecord } from "@boxmaker/proto";

/** Fewer than most texts have, so that what isn't counted yet is rather taken for too much. */
const BYTES_PER_TOKEN = 3;
/** More than this share of the context isn't kept free. */
const MAX_RESERVE_SHARE = 1 / 4;

function textOf(record: SessionRecord): string {
  if (record.kind === "user") return record.text;
  return record.kind === "tool_result" ? record.content : "";
}

/**
 * Whether the next request would leave less than `reserve` tokens of the context.
 *
 * @returns false where no request of the epoch was counted yet: the server will say
 */
export function isNearlyFull(records: readonly SessionRecord[], context: number, reserve: number): boolean {
  const counted = records.findLastIndex(({ kind }) => kind === "usage");
  const last = records[counted];
  if (last?.kind !== "usage") return false;
  const bytes = records.slice(counted).reduce((sum, record) => sum + Buffer.byteLength(textOf(record)), 0);
  const due = last.usage.prompt + last.usage.completion + Math.ceil(bytes / BYTES_PER_TOKEN);
  return due + Math.min(reserve, Math.floor(context * MAX_RESERVE_SHARE)) > context;
}
