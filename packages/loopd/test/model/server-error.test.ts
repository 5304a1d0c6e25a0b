import assert from "node:assert/strict";
import { test } from "node:test";
import { readServerError } from "../../src/model/server-error.ts";

const OVERFLOWS: readonly (readonly [server: string, status: number, error: unknown])[] = [
  [
    "llama-server",
    400,
    {
      code: 400,
      message: "request (17021 tokens) exceeds the available context size (16384 tokens), try increasing it",
      type: "exceed_context_size_error",
    },
  ],
  [
    "an older llama-server",
    400,
    {
      code: 400,
      message: "the request exceeds the available context size. try increasing the context size or enable context shift",
      type: "invalid_request_error",
    },
  ],
  [
    "llama-server with one memory for all slots",
    200,
    { code: 500, message: "Context size has been exceeded.", type: "server_error" },
  ],
  [
    "vLLM",
    400,
    {
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
      type: "BadRequestError",
      code: 400,
    },
  ],
  [
    "another vLLM",
    400,
    {
      message: "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
      type: "BadRequestError",
      code: 400,
    },
  ],
  [
    "LM Studio",
    400,
    "Trying to keep the first 4096 tokens when context the overflows. However, the model is loaded with context length of only 2048 tokens, which is not enough.",
  ],
  [
    "another LM Studio",
    400,
    { message: "The number of tokens to keep from the initial prompt is greater than the context length" },
  ],
  ["Ollama", 400, { message: "the input length exceeds the context length", type: "invalid_request_error", code: null }],
  [
    "SGLang",
    400,
    { message: "The input (5000 tokens) is longer than the model's context length (4096 tokens).", type: "BadRequestError" },
  ],
  ["the Python binding", 400, { message: "Requested tokens (5000) exceed context window of 4096", type: "invalid_request_error" }],
  ["OpenAI, by its code alone", 400, { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" }],
];

test("a prompt that doesn't fit is context_full in every server's words, in an error, a text or a flat body", () => {
  for (const [server, status, error] of OVERFLOWS) {
    assert.equal(readServerError(status, { error }).code, "context_full", server);
    if (typeof error === "object")
      assert.equal(readServerError(status, { object: "error", ...error }).code, "context_full", server);
  }
});

test("an error that only speaks of a context is a server_error", () => {
  const others = ["Failed to create context", "unknown field context_size", "Invalid context id", "the context was cancelled"];
  for (const message of others) assert.equal(readServerError(500, { error: { message } }).code, "server_error", message);
});

test("inferproxy's own answer is unreachable, and the same words from a server's error are not", () => {
  const error = { code: 502, message: "inferproxy can't reach the model server (ECONNREFUSED)", type: "inferproxy_upstream_away" };
  assert.deepEqual(readServerError(502, { error }), {
    code: "unreachable",
    detail: "inferproxy can't reach the model server (ECONNREFUSED)",
  });
  assert.equal(readServerError(500, { error }).code, "server_error");
  assert.equal(readServerError(502, { error: { message: "bad gateway" } }).code, "loading");
});

test("whatever shape an error has, it is one printable line", () => {
  for (const body of [
    undefined,
    null,
    1,
    "x",
    [],
    {},
    { error: null },
    { error: [1] },
    { error: { message: { a: 1 } } },
    { error: { message: "a\n\u009bb" } },
  ]) {
    assert.doesNotMatch(readServerError(500, body).detail, /\p{C}/u);
  }
});
