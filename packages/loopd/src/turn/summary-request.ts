/** The request for a summary, which is the conversation and one question behind it: the same records give the same bytes, always. */
import { type Baseline, canonicalJson, type SessionRecord } from "@boxmaker/proto";
import { cutText } from "./cut-text.ts";
import { History } from "./history.ts";

const QUESTION = `This conversation is about to be cut off to make room. Write the summary from which you will go on, in at most 600 words, in the language of the conversation. Keep what was asked for and is still open, decisions and their reasons, names, paths, numbers and exact wordings that matter, what was done with which result, and what you were going to do next. Say of each fact from a file, page or tool where it is from. Call no tool. Answer with the summary alone.`;

/** What is asked for, and how. */
export interface SummaryRequest {
  readonly messages: readonly string[];
  readonly tools: string;
}

function shorten(record: SessionRecord, bytes: number): SessionRecord {
  switch (record.kind) {
    case "user":
      return { ...record, text: cutText(record.text, bytes).text };
    case "assistant": {
      const calls = record.tool_calls.map((call) =>
        Buffer.byteLength(call.arguments) > bytes ? { ...call, arguments: "{}" } : call,
      );
      return { ...record, content: cutText(record.content, bytes).text, reasoning: "", tool_calls: calls };
    }
    case "tool_result":
      return { ...record, content: cutText(record.content, bytes).text };
    case "session_start":
    case "call_sent":
    case "usage":
    case "cache_loss":
    case "cancelled":
    case "epoch_end":
      return record;
  }
}

/** Cut to this many bytes each or fewer, a conversation is read from its last so many turns only. */
const SHORTEST = 128;
const LAST_TURNS = 24;

function lastTurns(records: readonly SessionRecord[]): readonly SessionRecord[] {
  const starts = records.flatMap(({ kind }, index) => (kind === "user" ? [index] : []));
  return records.slice(starts.at(-LAST_TURNS) ?? 0);
}

function shortenAll(records: readonly SessionRecord[], bytes: number): readonly SessionRecord[] {
  return (bytes <= SHORTEST ? lastTurns(records) : records).map((record) => shorten(record, bytes));
}

/**
 * Builds the request.
 *
 * @param shortened null: the conversation as it was sent before, so that the server has it in its cache. Otherwise the length in bytes that
 *   each text is cut to, without thoughts, and without tools that could be called
 */
export function summaryRequest(baseline: Baseline, records: readonly SessionRecord[], shortened: number | null): SummaryRequest {
  const history = new History(baseline, shortened === null ? records : shortenAll(records, shortened));
  // Many chat templates refuse two user messages in a row.
  history.add({ kind: "cancelled", reason: "" });
  const messages = [...history.messages, canonicalJson({ role: "user", content: QUESTION })];
  return { messages, tools: shortened === null ? baseline.tools : "[]" };
}
