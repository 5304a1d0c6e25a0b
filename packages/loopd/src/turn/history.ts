/** From a session's records to the messages of a request: the same records give the same bytes, always. */
import { type Baseline, canonicalJson, type ModelToolCall, type SessionRecord, unreachable } from "@boxmaker/proto";

/** Stands where a turn ended without an answer, because many chat templates refuse two user messages in a row. */
const NO_ANSWER = "[No answer: this turn ended early.]";

function assistantMessage(content: string, reasoning: string, calls: readonly ModelToolCall[]): string {
  const message = {
    role: "assistant",
    content,
    // Sent back exactly as it came: without it the server reads the turn again.
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: text }) => ({ id, type: "function", function: { name, arguments: text } })),
        }),
  };
  return canonicalJson(message);
}

/** The messages of the next request, each as JSON text. Grows by what each record adds. */
export class History {
  readonly #messages: string[];
  /** Whether the model has yet to say something. */
  #open = false;

  constructor(baseline: Baseline, records: readonly SessionRecord[]) {
    this.#messages = [canonicalJson({ role: "system", content: baseline.system })];
    for (const record of records) this.add(record);
  }

  get messages(): readonly string[] {
    return this.#messages;
  }

  add(record: SessionRecord): void {
    switch (record.kind) {
      case "user":
        this.#push(canonicalJson({ role: "user", content: record.text }), true);
        break;
      case "assistant":
        this.#push(assistantMessage(record.content, record.reasoning, record.tool_calls), false);
        break;
      case "tool_result":
        this.#push(canonicalJson({ role: "tool", tool_call_id: record.id, content: record.content }), true);
        break;
      case "cancelled":
        if (this.#open) this.#push(assistantMessage(NO_ANSWER, "", []), false);
        break;
      case "session_start":
      case "call_sent":
      case "usage":
      case "cache_loss":
      case "epoch_end":
        break;
      default:
        unreachable(record);
    }
  }

  #push(message: string, open: boolean): void {
    this.#messages.push(message);
    this.#open = open;
  }
}
