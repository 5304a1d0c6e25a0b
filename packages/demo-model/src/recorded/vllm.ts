/** vLLM's common API, by its public description: arguments in few pieces, errors with their class's name, an end mark even after an error. */
import { DONE, event, json, type ServerRecording } from "./recording.ts";

const HEAD = { id: "chatcmpl-8f0c", object: "chat.completion.chunk", created: 1_790_000_000, model: "qwen" };

function piece(delta: object, finish_reason: string | null = null): string {
  return event({ ...HEAD, choices: [{ index: 0, delta, logprobs: null, finish_reason, stop_reason: null, token_ids: null }] });
}

function call(part: object): string {
  return piece({ tool_calls: [{ index: 0, ...part }] });
}

const MODEL = {
  id: "qwen",
  object: "model",
  created: 1_790_000_000,
  owned_by: "vllm",
  root: "qwen",
  parent: null,
  max_model_len: 8_192,
};
const ROLE = piece({ role: "assistant", content: "" });
const USAGE = event({
  ...HEAD,
  choices: [],
  usage: { prompt_tokens: 21, total_tokens: 27, completion_tokens: 6, prompt_tokens_details: null },
});
const TOO_LONG = "This model's maximum context length is 8192 tokens. However, the request needs 9000.";

export const VLLM: ServerRecording = {
  name: "vLLM",
  routes: (route) => {
    if (route === "GET /v1/models") {
      return json(200, { object: "list", data: [MODEL] });
    }
    if (route === "POST /tokenize") {
      return json(400, {
        error: { message: "1 validation error: prompt: Field required", type: "Bad Request", param: null, code: 400 },
      });
    }
    return json(404, { detail: "Not Found" });
  },
  text: [
    ROLE,
    piece({ reasoning: "A greeting." }),
    piece({ content: "Hello" }),
    piece({ content: " there" }, "stop"),
    USAGE,
    DONE,
  ].join(""),
  call: [
    ROLE,
    call({ id: "call_1", type: "function", function: { name: "clock", arguments: "" } }),
    call({ function: { arguments: '{"zone":' } }),
    call({ function: { arguments: '"utc"}' } }),
    piece({ content: "" }, "tool_calls"),
    USAGE,
    DONE,
  ].join(""),
  failing: [
    ROLE,
    piece({ content: "Hel" }),
    event({ error: { message: "EngineCore died", type: "InternalServerError", param: null, code: 500 } }),
    DONE,
  ].join(""),
  overflow: { status: 400, body: { error: { message: TOO_LONG, type: "BadRequestError", param: null, code: 400 } } },
};
