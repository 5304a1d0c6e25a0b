/** Leaves a session so that its next request is well-formed, however its last turn ended. */
import type { SessionRecord } from "@boxmaker/proto";
import type { Session } from "../session/session.ts";

const UNKNOWN = "Interrupted: the call was sent, and whether it ran is unknown.";
const NOT_RUN = "Not run: the turn ended before this call.";

type Assistant = Extract<SessionRecord, { readonly kind: "assistant" }>;

interface OpenTurn {
  readonly reply: Assistant | undefined;
  readonly answered: ReadonlySet<string>;
  readonly sent: ReadonlyMap<string, string>;
}

/** The last turn, if it has no end yet: its last reply, and what became of that reply's calls. */
function findOpenTurn(records: readonly SessionRecord[]): OpenTurn | undefined {
  const answered = new Set<string>();
  const sent = new Map<string, string>();
  for (let index = records.length - 1; index >= 0; index--) {
    const record = records[index];
    switch (record?.kind) {
      case "cancelled":
        return undefined;
      case "assistant":
        return record.tool_calls.length === 0 ? undefined : { reply: record, answered, sent };
      case "user":
        return { reply: undefined, answered, sent };
      case "tool_result":
        answered.add(record.id);
        break;
      case "call_sent":
        sent.set(record.id, record.tool);
        break;
      case "session_start":
      case "usage":
      case "cache_loss":
      case "epoch_end":
      case undefined:
    }
  }
  return undefined;
}

/**
 * Ends a turn that has no answer: a result for every call of its last reply that has none, and why it ended. Does nothing where the
 * last turn has its end.
 *
 * @param reason one printable line
 * @param onRecord called with each record that was appended
 */
export async function endTurn(session: Session, reason: string, onRecord: (record: SessionRecord) => void): Promise<void> {
  const open = findOpenTurn(session.records);
  if (open === undefined) return;
  const append = async (record: SessionRecord): Promise<void> => {
    await session.append(record);
    onRecord(record);
  };
  for (const { id, name } of open.reply?.tool_calls ?? []) {
    if (open.answered.has(id)) continue;
    const tool = open.sent.get(id) ?? name;
    const content = open.sent.has(id) ? UNKNOWN : NOT_RUN;
    await append({ kind: "tool_result", call: null, id, tool, content, class: null, untrusted: null, truncated: false });
  }
  await append({ kind: "cancelled", reason });
}
