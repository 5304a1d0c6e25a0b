import assert from "node:assert/strict";
import { test } from "node:test";
import { reply, replySteps, stream } from "@boxmaker/demo-model";
import { ThinkingCap } from "../../src/model/thinking-cap.ts";
import { TestModel } from "../support/test-model.ts";

const TOML = "[infer]\nretry_attempts = 1\n[limits]\nthinking_cap = 10\nthinking_overrun = 20\n";
const thoughts = (count: number): string => "so ".repeat(count);

test("a thought past the cap is ended through the server, once, and the answer follows", async () => {
  const steps = replySteps({ reasoning: thoughts(40), content: "done" });
  await using model = await TestModel.start({
    toml: TOML,
    script: [stream([...steps.slice(0, 28), { kind: "wait", gate: Promise.withResolvers<void>().promise }])],
  });
  const cancel = new AbortController();
  const running = model.complete({ signal: cancel.signal });
  const control = await model.server.controlled(1);
  assert.equal(control.action, "reasoning_end");
  cancel.abort();
  const { events } = await running;
  assert.equal(events.filter(({ event }) => event === "thinking_capped").length, 1);
  assert.equal(model.server.controls.length, 1);
});

test("a thought that goes on after it was to end is stopped", async () => {
  await using model = await TestModel.start({
    toml: TOML,
    control: "ignored",
    script: [reply({ reasoning: thoughts(80), content: "done" })],
  });
  assert.equal(await model.failure(), "thinking_overrun");
  assert.notEqual(await (await model.server.received(1)).ended, undefined);
});

test("a thought that ends at the cap is marked, because the server reads it again; a shorter one isn't", async () => {
  const script = [reply({ reasoning: thoughts(10), content: "done" }), reply({ reasoning: thoughts(5), content: "done" })];
  await using model = await TestModel.start({ toml: TOML, script });
  const capped = (await model.complete()).result;
  assert.equal(capped.kind === "completed" && capped.completion.thinkingCapped, true);
  const short = (await model.complete()).result;
  assert.equal(short.kind === "completed" && short.completion.thinkingCapped, false);
});

test("ThinkingCap asks once, at the cap and the server's grace, and stops exactly after the overrun", () => {
  const cap = new ThinkingCap(10, 5);
  const steps = Array.from({ length: 31 }, () => cap.count(1));
  assert.deepEqual(steps.indexOf("ask"), 25);
  assert.deepEqual(steps.filter((step) => step === "ask").length, 1);
  assert.deepEqual(steps.indexOf("stop"), 30);
  assert.equal(cap.count(0), "none");
});
