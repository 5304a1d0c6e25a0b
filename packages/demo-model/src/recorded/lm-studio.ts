/** LM Studio's common API, by its public description: status 200 for what it doesn't know, no usage in a stream, errors that are a text. */
import { DONE, event, json, type ServerRecording } from "./recording.ts";

const HEAD = {
  id: "chatcmpl-q1",
  object: "chat.completion.chunk",
  created: 1_790_000_000,
  model: "qwen3-4b",
  system_fingerprint: "qwen3-4b",
};

function piece(delta: object, finish_reason: string | null = null): string {
  return event({ ...HEAD, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
}

function call(part: object): string {
  return piece({ tool_calls: [{ index: 0, ...part }] });
}

const OVERFLOW = "The number of tokens to keep from the initial prompt is greater than the context length.";

export const LM_STUDIO: ServerRecording = {
  name: "LM Studio",
  routes: (route) =>
    route === "GET /v1/models"
      ? json(200, { data: [{ id: "qwen3-4b", object: "model", owned_by: "organization_owner" }], object: "list" })
      : json(200, { error: `Unexpected endpoint or method. (${route})` }),
  text: [
    piece({ role: "assistant", reasoning_content: "A greeting." }),
    piece({ role: "assistant", content: "Hello" }),
    piece({ role: "assistant", content: " there" }),
    piece({}, "stop"),
    DONE,
  ].join(""),
  call: [
    call({ id: "call_1", type: "function", function: { name: "clock", arguments: "" } }),
    call({ function: { arguments: '{"zone":"utc"}' } }),
    piece({}, "tool_calls"),
    DONE,
  ].join(""),
  failing: `${piece({ content: "Hel" })}event: error\n${event({ error: { message: "The model has crashed" } })}`,
  overflow: { status: 400, body: { error: OVERFLOW } },
};
