import assert from "node:assert/strict";
import { test } from "node:test";
import { stream } from "@boxmaker/demo-model";
import { Assembler } from "../../src/model/assemble.ts";
import type { Completion } from "../../src/model/completion.ts";
import { readEvents } from "../../src/model/event-stream.ts";
import { CompletionError } from "../../src/model/model-error.ts";
import { RECORDED_STREAM, SHORT_STREAM } from "../support/recorded-stream.ts";
import { TestModel } from "../support/test-model.ts";

const EXPECTED: Completion = {
  content: "Grüße 🦀",
  reasoning: "Think",
  toolCalls: [
    { id: "a1", name: "read_file", arguments: '{"path":"/n/ä"}' },
    { id: "a2", name: "clock", arguments: "{}" },
  ],
  cut: false,
  usage: { prompt: 8, completion: 9, cached: 0 },
  cacheHit: 0,
  thinkingCapped: false,
};

const bytes = Buffer.from(RECORDED_STREAM);

async function* inPieces(...pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** What a reader of these pieces gets when the connection then ends politely. */
async function read(...pieces: Uint8Array[]): Promise<Completion | "cut"> {
  const assembler = new Assembler(1_000_000, () => {});
  for await (const data of readEvents(inPieces(...pieces), 1_000_000)) {
    if (data === "[DONE]") return assembler.finish(false);
    assembler.push(data);
  }
  return "cut";
}

test("a recorded stream is the same reply wherever it is cut in two", async () => {
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(await read(bytes.subarray(0, at), bytes.subarray(at)), EXPECTED);
  }
});

test("a recorded stream that ends politely after any byte but its last is cut", async () => {
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(await read(bytes.subarray(0, length)), "cut", `after ${length} bytes`);
  }
});

test("a connection that breaks after any byte of a stream is closed_early", async () => {
  const short = Buffer.from(SHORT_STREAM);
  const cuts = Array.from({ length: short.length }, (_, index) => index);
  await using model = await TestModel.start({
    script: (request) => stream([{ kind: "bytes", bytes: short }], { cutAt: cuts[request.index] ?? 0 }),
    flavour: "openai",
  });
  for (const cut of cuts) {
    const { result } = await model.complete({ slot: null });
    assert.equal(result.kind === "failed" && result.error.code, "closed_early", `after ${cut} bytes`);
  }
  assert.deepEqual(model.server.violations, []);
});

test("a recorded stream that arrives byte by byte over a socket is the whole reply", async () => {
  await using model = await TestModel.start({ script: [stream([{ kind: "bytes", bytes }], { split: "bytes" })] });
  const { result } = await model.complete();
  assert.deepEqual(result, { kind: "completed", completion: EXPECTED });
});

const chunk = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: null, delta }] })}\n\n`;
const END = `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: "stop", delta: {} }] })}\n\ndata: [DONE]\n\n`;

const HOSTILE: readonly (readonly [what: string, body: string | Uint8Array, code: string])[] = [
  ["an event that isn't JSON", "data: {\n\n", "bad_reply"],
  ["an event that is an array", "data: []\n\n", "bad_reply"],
  ["choices that are no list", 'data: {"choices":{}}\n\n', "bad_reply"],
  ["bytes that aren't UTF-8", Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a, 0x0a]), "bad_reply"],
  ["a proxy's error line", "proxy error: Failed to read connection\n", "bad_reply"],
  ["a proxy's error without a line's end", "proxy error: Failed to read connection", "closed_early"],
  ["nothing at all", "", "closed_early"],
  ["the end mark without a finish reason", `${chunk({ content: "a" })}data: [DONE]\n\n`, "closed_early"],
  ["a finish reason without the end mark", END.slice(0, END.indexOf("data: [DONE]")), "closed_early"],
  [
    "an error event",
    `${chunk({ content: "a" })}data: {"error":{"code":500,"message":"Compute error.","type":"server_error"}}\n\n`,
    "server_error",
  ],
  ["an error event before a clean end", `data: {"error":"broken"}\n\n${END}`, "server_error"],
  ["an error event with an array", `data: {"error":[1]}\n\n${END}`, "server_error"],
  ["an overflow in mid-stream", 'data: {"error":{"type":"exceed_context_size_error","message":"too long"}}\n\n', "context_full"],
  ["more text than the limit", `${chunk({ content: "x".repeat(2_000) })}${END}`, "reply_too_large"],
  [
    "more arguments than the limit",
    `${chunk({ tool_calls: [{ index: 0, function: { name: "a", arguments: "x".repeat(2_000) } }] })}${END}`,
    "reply_too_large",
  ],
  ["a call that skips an index", `${chunk({ tool_calls: [{ index: 1, function: { name: "a" } }] })}${END}`, "bad_reply"],
  ["an event without an end", `data: ${"x".repeat(200_000)}`, "bad_reply"],
  ["a negative index", `${chunk({ tool_calls: [{ index: -1 }] })}${END}`, "bad_reply"],
];

test("a hostile stream ends in the error that names it", async () => {
  await using model = await TestModel.start({
    script: HOSTILE.map(([, body]) => stream([{ kind: "bytes", bytes: body }])),
    toml: "[infer]\nretry_attempts = 1\n[limits]\nreply_bytes = 1000\n",
  });
  for (const [what, , code] of HOSTILE) assert.equal(await model.failure(), code, what);
});

test("a reply that is no event stream is bad_reply and its type is escaped", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\u009b\r\nContent-Length: 2\r\n\r\nhi";
  await using model = await TestModel.start({ script: [stream([{ kind: "wire", bytes: Buffer.from(head, "latin1") }])] });
  const { result } = await model.complete();
  assert.equal(result.kind === "failed" && result.error.code, "bad_reply");
  assert.ok(result.kind === "failed" && !/\p{C}/u.test(result.error.detail));
});

test("an answer that is no HTTP is bad_reply", async () => {
  await using model = await TestModel.start({ script: [stream([{ kind: "wire", bytes: "SSH-2.0-OpenSSH_9.9\r\n\r\n" }])] });
  assert.equal(await model.failure(), "bad_reply");
});

test("Assembler.push() says what came before the error as output", () => {
  const assembler = new Assembler(1_000, () => {});
  assembler.push(JSON.stringify({ choices: [{ delta: { content: "a" } }] }));
  assert.throws(
    () => assembler.push("{"),
    (error: unknown) => error instanceof CompletionError && error.error.hadOutput,
  );
});
