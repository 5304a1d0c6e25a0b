/** The client against the shapes of other servers: what works alike, and what each can't say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LM_STUDIO,
  type ModelServerOptions,
  OLLAMA,
  ROUTER_EVICTION,
  type ServerRecording,
  stream,
  UNIFIED_OVERFLOW,
  VLLM,
} from "@boxmaker/demo-model";
import { systemClock } from "@boxmaker/edge/log";
import { selftest } from "../../src/selftest/selftest.ts";
import { TestModel } from "../support/test-model.ts";

const recorded = (bytes: string) => stream([{ kind: "bytes", bytes }]);

/** A server that plays a recording, as far as it isn't asked for more completions than these. */
function playing({ routes }: ServerRecording, script: ModelServerOptions["script"]): ModelServerOptions {
  return { flavour: "openai", routes, script };
}

for (const recording of [OLLAMA, VLLM, LM_STUDIO]) {
  const { name, text, call, failing, overflow } = recording;

  test(`${name} is a server without slots, whose thought, text and calls arrive whole, and whose cache isn't known`, async () => {
    await using model = await TestModel.start(playing(recording, [recorded(text), recorded(call)]));
    assert.deepEqual(await model.client.server.info(new AbortController().signal), { kind: "openai" });
    const { result } = await model.complete();
    assert.ok(result.kind === "completed", JSON.stringify(result));
    const { content, reasoning, cacheHit, usage } = result.completion;
    assert.deepEqual([content, reasoning, cacheHit], ["Hello there", "A greeting.", null]);
    assert.deepEqual(
      usage,
      recording === LM_STUDIO ? { prompt: 0, completion: 0, cached: null } : { prompt: 21, completion: 6, cached: null },
    );
    const { result: called } = await model.complete();
    assert.ok(called.kind === "completed", JSON.stringify(called));
    const [first, ...others] = called.completion.toolCalls;
    assert.deepEqual([first?.id, first?.name, first?.arguments, others], ["call_1", "clock", '{"zone":"utc"}', []]);
    const body: unknown = JSON.parse(model.server.requests[0]?.body.toString() ?? "");
    assert.ok(typeof body === "object" && body !== null && !("id_slot" in body) && !("return_progress" in body));
  });

  test(`${name} failing in mid-stream, or refusing a prompt that doesn't fit, is an error and no reply`, async () => {
    const refusal = overflow === null ? [] : [{ kind: "refusal", ...overflow } as const];
    await using model = await TestModel.start(playing(recording, [recorded(failing), ...refusal]));
    assert.equal(await model.failure(), recording === OLLAMA ? "closed_early" : "server_error");
    if (overflow !== null) assert.equal(await model.failure(), "context_full");
    assert.deepEqual(model.server.violations, []);
  });

  test(`the self-test of ${name} says what can't be looked at, and nothing is wrong with that`, async () => {
    await using model = await TestModel.start({ ...playing(recording, []), probe: recorded(text) });
    const config = await model.home.config();
    const report = await selftest(config, { clock: systemClock, random: () => 0.5 }, new AbortController().signal);
    assert.deepEqual(report, {
      lines: [
        "server: OpenAI-compatible; it has no slots, and doesn't say what it took from its cache",
        "baseline: the server counts no tokens",
        "completion: streamed to its end",
      ],
      mismatches: [],
      warnings: [],
    });
  });
}

test("a llama-server whose shared memory is full, and a router that unloads a model, fail the reply that they had begun", async () => {
  await using model = await TestModel.start({ script: [recorded(UNIFIED_OVERFLOW), recorded(ROUTER_EVICTION)] });
  assert.equal(await model.failure(), "context_full");
  assert.equal(await model.failure(), "closed_early");
});
