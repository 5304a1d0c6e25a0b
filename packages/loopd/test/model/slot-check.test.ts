/** What is asked and told before a request is sent: whether its slot is free, whether it fits, and why it waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { reply, replySteps, stream } from "@boxmaker/demo-model";
import { ModelHttp } from "../../src/model/http.ts";
import { CompletionError } from "../../src/model/model-error.ts";
import { ModelServer } from "../../src/model/model-server.ts";
import { waitForFreeSlot } from "../../src/model/slot-check.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { TestHome } from "../support/home.ts";
import { TestModel } from "../support/test-model.ts";

const hello = reply({ content: "hello" });
const never = new Promise(() => {});

test("a slot that a cancelled request still holds is never used, and the next request gives up at the limit for a busy slot", async () => {
  const clock = new FakeClock();
  await using model = await TestModel.start({
    clock,
    script: [stream([{ kind: "start" }, { kind: "wait", gate: never }], { holdSlot: never })],
    toml: "[infer]\nretry_attempts = 1\npoll_ms = 1000\nbusy_ms = 150\n",
  });
  const cancel = new AbortController();
  const first = model.failure({ signal: cancel.signal, onEvent: ({ event }) => event === "progress" && cancel.abort() });
  assert.equal(await first, "cancelled");
  const second = model.complete();
  for (const ms of [50, 100]) {
    await clock.sleeping(ms);
    await clock.advance(ms);
  }
  const { result, events } = await second;
  assert.equal(result.kind === "failed" && result.error.code, "wait_timeout");
  assert.deepEqual(events, Array(3).fill({ event: "waiting", slot_busy: true }));
  assert.equal(model.server.requests.length, 1);
  assert.deepEqual(model.server.violations, []);
});

test("a request after one that ended cleanly is sent without asking for its slot", async () => {
  await using model = await TestModel.start({ script: [hello, hello] });
  await model.complete();
  const asked = model.server.seen.filter((route) => route.includes("/slots")).length;
  await model.complete();
  assert.equal(model.server.seen.filter((route) => route.includes("/slots")).length, asked);
});

test("a slot of a server that is away is not free, and one that can't be seen is free a little later", async () => {
  await using home = await TestHome.make();
  await using http = new ModelHttp(home.at("run/infer/infer.sock"), 100);
  const clock = new FakeClock();
  const limits = { pollMs: 1, busyMs: 1, loadingMs: 1, idleMs: 1 };
  const { signal } = new AbortController();
  const events: unknown[] = [];
  const wait = { clock, slot: 0, limits, onEvent: (event: unknown) => events.push(event), signal };
  const gone = await waitForFreeSlot({ ...wait, server: new ModelServer(http, "llama-server") });
  assert.ok(gone instanceof CompletionError && gone.error.code === "loading");
  await using model = await TestModel.start({
    script: [],
    routes: (route) => (route === "GET /slots" ? { status: 501, body: "{}" } : undefined),
  });
  const unseen = waitForFreeSlot({ ...wait, server: model.client.server });
  await clock.sleeping(1_500);
  await clock.advance(1_500);
  assert.equal(await unseen, undefined);
  assert.deepEqual(events, [{ event: "waiting", slot_busy: false }]);
});

test("a server without slots that doesn't begin its reply is waited for, said each time", async () => {
  const clock = new FakeClock();
  await using model = await TestModel.start({
    clock,
    flavour: "openai",
    script: [stream([{ kind: "wait", gate: never }])],
    toml: '[infer]\nserver = "openai"\nretry_attempts = 1\npoll_ms = 10\nhead_ms = 20\n',
  });
  const failing = model.complete({ slot: null });
  await model.server.received(1);
  for (let poll = 0; poll < 2; poll++) {
    await clock.sleeping(10);
    await clock.advance(10);
  }
  const { result, events } = await failing;
  assert.equal(result.kind === "failed" && result.error.code, "wait_timeout");
  assert.deepEqual(events[0], { event: "waiting", slot_busy: false });
});

test("a conversation that the server counts as too long is context_full, and is never sent", async () => {
  await using model = await TestModel.start({ script: [], contextTokens: 64 });
  const { result } = await model.complete({ text: "word ".repeat(100) });
  assert.ok(result.kind === "failed");
  assert.equal(result.error.code, "context_full");
  assert.match(result.error.detail, /^the conversation has [0-9]+ tokens and the model server's context 64$/u);
  assert.equal(model.server.requests.length, 0);
});

test("a conversation that must fit isn't counted, one that might not is, and one that can't be counted is sent", async () => {
  await using model = await TestModel.start({ script: [hello, hello], contextTokens: 512 });
  assert.equal((await model.complete({ text: "short" })).result.kind, "completed");
  const counts = (): number => model.server.seen.filter((route) => route.includes("input_tokens")).length;
  assert.equal(counts(), 0);
  assert.equal((await model.complete({ text: `${"x".repeat(700)} ` })).result.kind, "completed");
  assert.equal(counts(), 1);
  await using silent = await TestModel.start({
    script: [hello],
    contextTokens: 512,
    routes: (route) => (/input_tokens|tokenize/u.test(route) ? { status: 404, body: "{}" } : undefined),
  });
  assert.equal((await silent.complete({ text: "x".repeat(700) })).result.kind, "completed");
});

test("where the template can't be counted, the text alone is, by /tokenize", async () => {
  await using model = await TestModel.start({
    script: [],
    contextTokens: 64,
    routes: (route) => (route.includes("input_tokens") ? { status: 404, body: "{}" } : undefined),
  });
  assert.equal(await model.failure({ text: "word ".repeat(100) }), "context_full");
  assert.ok(model.server.seen.includes("POST /tokenize"));
});

test("a token is delivered before the model server has made the next one", async () => {
  const gate = Promise.withResolvers<void>();
  const [start, first, ...rest] = replySteps({ content: "one two" });
  assert.ok(start !== undefined && first !== undefined);
  await using model = await TestModel.start({ script: [stream([start, first, { kind: "wait", gate: gate.promise }, ...rest])] });
  const { result, events } = await model.complete({ onEvent: ({ event }) => event === "text" && gate.resolve() });
  assert.equal(result.kind, "completed");
  assert.deepEqual(
    events.flatMap((event) => (event.event === "text" ? [event.text] : [])),
    ["one", " two"],
  );
});

test("a thought whose end the server refuses or can't bring about is stopped at once", async () => {
  for (const control of ["refused", "absent"] as const) {
    const steps = replySteps({ reasoning: "so ".repeat(28), content: "done" });
    await using model = await TestModel.start({
      control,
      script: [stream([...steps.slice(0, 28), { kind: "wait", gate: never }])],
      toml: "[infer]\nretry_attempts = 1\n[limits]\nthinking_cap = 10\nthinking_overrun = 2000\n",
    });
    assert.equal(await model.failure(), "thinking_overrun", control);
    assert.equal(await (await model.server.received(1)).ended, "client-gone");
  }
});
