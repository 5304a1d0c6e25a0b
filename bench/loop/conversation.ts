/** A conversation of any length, as loopd's logs have it. */
import { type Baseline, CallId, type SessionRecord, timestampFromMillis } from "@boxmaker/proto";
import { SESSION_FORMAT } from "../../packages/edge/src/session-files/index.ts";
import { coreToolsText } from "../../packages/loopd/src/registry/registry.ts";

const START = Date.UTC(2027, 0, 1);
const TURN_MS = 60_000;

export const BASELINE: Baseline = {
  version: SESSION_FORMAT,
  memory: false,
  system: "You are a helpful assistant.",
  tools: coreToolsText(),
};

/** One turn: a question, a thought with a call, its result, an answer. */
function turn(index: number): readonly SessionRecord[] {
  const id = `call${index}`;
  const usage = { prompt: 300 + 120 * index, completion: 60, cached: 300 + 120 * index - 60 };
  return [
    {
      kind: "user",
      time: timestampFromMillis(START + index * TURN_MS),
      text: `Question ${index}: what do my notes say about the garden?`,
    },
    {
      kind: "assistant",
      content: "",
      reasoning: `The owner asks about the garden for time ${index}. I read the notes.`,
      thinking_capped: false,
      tool_calls: [{ id, name: "read_file", arguments: `{"path":"/home/me/notes/garden-${index}.md"}` }],
    },
    { kind: "usage", usage },
    { kind: "call_sent", call: CallId.parse(index + 1), id, tool: "read_file" },
    {
      kind: "tool_result",
      call: CallId.parse(index + 1),
      id,
      tool: "read_file",
      content: "The tomatoes want water every other day. The beans are up. ".repeat(4),
      class: "private",
      untrusted: false,
      truncated: false,
    },
    {
      kind: "assistant",
      content: `Water the tomatoes every other day; the beans are up. (${index})`,
      reasoning: "",
      thinking_capped: false,
      tool_calls: [],
    },
    { kind: "usage", usage },
  ];
}

/** The records of so many turns. */
export function conversationOf(turns: number): readonly SessionRecord[] {
  return Array.from({ length: turns }, (_, index) => turn(index)).flat();
}
