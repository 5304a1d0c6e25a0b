/** Every recorded stream, cut at every byte and in any pieces: the same bytes are always the same reply, and no part of them is one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LM_STUDIO, OLLAMA, ROUTER_EVICTION, stream, UNIFIED_OVERFLOW, VLLM } from "@boxmaker/demo-model";
import fc from "fast-check";
import { Assembler } from "../../src/model/assemble.ts";
import type { Completion, ModelEvent } from "../../src/model/completion.ts";
import { readEvents } from "../../src/model/event-stream.ts";
import { CompletionError } from "../../src/model/model-error.ts";
import { RECORDED_STREAM, SHORT_STREAM } from "../support/recorded-stream.ts";
import { TestModel } from "../support/test-model.ts";

const WHOLE: readonly (readonly [name: string, text: string])[] = [
  ["llama-server", RECORDED_STREAM],
  ["llama-server with lines that end in CR LF", RECORDED_STREAM.replaceAll("\n", "\r\n")],
  ...[OLLAMA, VLLM, LM_STUDIO].flatMap(({ name, text, call }): (readonly [string, string])[] => [
    [`${name}, text`, text],
    [`${name}, a call`, call],
  ]),
];
const FAILING: readonly (readonly [name: string, text: string])[] = [
  ["llama-server whose slots ran out of memory", UNIFIED_OVERFLOW],
  ["a router that unloaded the model", ROUTER_EVICTION],
  ...[OLLAMA, VLLM, LM_STUDIO].map(({ name, failing }): readonly [string, string] => [name, failing]),
];

interface Outcome {
  readonly end: Completion | string;
  /** Texts joined, so that pieces of any size compare. */
  readonly text: string;
  readonly reasoning: string;
}

async function* inPieces(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** What a reader of these pieces gets when the connection then ends politely. */
async function read(pieces: readonly Uint8Array[]): Promise<Outcome> {
  let text = "";
  let reasoning = "";
  const onEvent = (event: ModelEvent): void => {
    if (event.event === "text") text += event.text;
    if (event.event === "reasoning") reasoning += event.text;
  };
  const assembler = new Assembler(1_000_000, onEvent);
  const run = async (): Promise<Completion | string> => {
    for await (const data of readEvents(inPieces(pieces), 1_000_000)) {
      if (data === "[DONE]") return assembler.finish(false);
      assembler.push(data);
    }
    return "cut";
  };
  const end = await run().catch((error: unknown) => {
    if (error instanceof CompletionError) return error.error.code;
    throw error;
  });
  return { end, text, reasoning };
}

for (const [name, text] of WHOLE) {
  const bytes = Buffer.from(text);

  test(`a stream of ${name} that ends politely after any byte but its last is cut, and the whole is the reply`, async () => {
    const { end } = await read([bytes]);
    assert.equal(typeof end, "object");
    const doneAt = text.lastIndexOf("data: [DONE]") + "data: [DONE]\n".length;
    const needed = Buffer.byteLength(text.slice(0, doneAt));
    for (let length = 0; length < needed; length++) {
      assert.equal((await read([bytes.subarray(0, length)])).end, "cut", `after ${length} bytes`);
    }
  });

  test(`a stream of ${name} is the same reply in whatever pieces it comes`, async () => {
    const expected = await read([bytes]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 40 }), async (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        assert.deepEqual(await read(pieces), expected);
      }),
      { numRuns: 50 },
    );
  });
}

for (const [name, text] of FAILING) {
  test(`a failing stream of ${name} is never a reply, wherever it ends and in whatever pieces it comes`, async () => {
    const bytes = Buffer.from(text);
    const whole = await read([bytes]);
    for (let length = 0; length <= bytes.length; length++) {
      const first = bytes.subarray(0, length);
      assert.equal(typeof (await read([first])).end, "string", `after ${length} bytes`);
      assert.deepEqual(await read([first, bytes.subarray(length)]), whole, `cut at ${length}`);
    }
  });
}

/** A whole answer with its head, framed in chunks or by the connection's end. */
function framed(framing: "chunks" | "the end"): Buffer {
  const body = Buffer.from(SHORT_STREAM);
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
  if (framing === "the end") return Buffer.concat([Buffer.from(`${head}Connection: close\r\n\r\n`), body]);
  const half = Math.floor(body.length / 2);
  const chunk = (part: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]);
  return Buffer.concat([
    Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`),
    chunk(body.subarray(0, half)),
    chunk(body.subarray(half)),
  ]);
}

for (const framing of ["chunks", "the end"] as const) {
  test(`an answer framed by ${framing} that breaks off before its end mark, in its head or framing too, is closed_early`, async () => {
    const wire = framed(framing);
    const done = wire.lastIndexOf("data: [DONE]\n\n") + "data: [DONE]\n\n".length;
    await using model = await TestModel.start({
      flavour: "openai",
      script: ({ index }) => stream([{ kind: "wire", bytes: wire.subarray(0, index) }, { kind: "cut" }]),
      toml: '[infer]\nserver = "openai"\nretry_attempts = 1\n',
    });
    for (let length = 0; length < done; length++) {
      const { result } = await model.complete({ slot: null });
      assert.equal(result.kind === "failed" && result.error.code, "closed_early", `after ${length} bytes`);
    }
  });
}
