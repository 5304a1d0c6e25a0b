/** Ollama's common API, by its public description: whole calls in one event, every event with a role and a text, prompts cut in silence. */
import { DONE, event, json, type ServerRecording } from "./recording.ts";

const HEAD = {
  id: "chatcmpl-417",
  object: "chat.completion.chunk",
  created: 1_790_000_000,
  model: "qwen3:4b",
  system_fingerprint: "fp_ollama",
};

function piece(delta: object, finish_reason: string | null = null): string {
  return event({ ...HEAD, choices: [{ index: 0, delta: { role: "assistant", content: "", ...delta }, finish_reason }] });
}

const USAGE = event({ ...HEAD, choices: [], usage: { prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 } });
const CALL = { id: "call_1", index: 0, type: "function", function: { name: "clock", arguments: '{"zone":"utc"}' } };

export const OLLAMA: ServerRecording = {
  name: "Ollama",
  routes: (route) => {
    if (route === "GET /v1/models") {
      return json(200, {
        object: "list",
        data: [{ id: "qwen3:4b", object: "model", created: 1_790_000_000, owned_by: "library" }],
      });
    }
    return { status: 404, body: "404 page not found", headers: { "Content-Type": "text/plain" } };
  },
  text: [
    piece({ reasoning: "A greeting." }),
    piece({ content: "Hello" }),
    piece({ content: " there" }),
    piece({}, "stop"),
    USAGE,
    DONE,
  ].join(""),
  call: [piece({ tool_calls: [CALL] }), piece({}, "tool_calls"), USAGE, DONE].join(""),
  // The error's line is read as an event like any other, and comes out as one that has nothing in it.
  failing: [piece({ content: "Hel" }), event({ ...HEAD, choices: [] })].join(""),
  overflow: null,
};
