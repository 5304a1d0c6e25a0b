import assert from "node:assert/strict";
import { test } from "node:test";
import { refuse, reply, replySteps, startModelServer, stream } from "@boxmaker/demo-model";
import { systemClock } from "@boxmaker/edge/log";
import type { ModelEvent } from "../../src/model/completion.ts";
import { ModelHttp } from "../../src/model/http.ts";
import { CompletionError } from "../../src/model/model-error.ts";
import { ModelServer } from "../../src/model/model-server.ts";
import { backoffMs, isRetryable } from "../../src/model/retry.ts";
import { openModel } from "../../src/serve.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { TestHome } from "../support/home.ts";
import { TestModel } from "../support/test-model.ts";

const hello = reply({ content: "hello" });
const RETRY = "[infer]\nretry_attempts = 3\n";

test("a server that isn't there yet is tried again, each time said, and then answers", async () => {
  await using model = await TestModel.start({ script: [], toml: RETRY });
  await model.server[Symbol.asyncDispose]();
  const listen = { kind: "unix", path: model.home.at("run/infer/infer.sock") } as const;
  const came = Promise.withResolvers<AsyncDisposable>();
  const { result, events } = await model.complete({
    onEvent: (event) => {
      if (event.event === "retrying" && event.attempt === 1)
        startModelServer({ script: [hello], listen }).then(came.resolve, came.reject);
    },
  });
  await using _server = await came.promise;
  assert.equal(result.kind, "completed");
  assert.deepEqual(
    events.flatMap((event) => (event.event === "retrying" ? [[event.attempt, event.error]] : [])),
    [[1, "nothing serves on the model's socket"]],
  );
});

test("a server that stays away is unreachable after the attempts that the config allows", async () => {
  const clock = new FakeClock();
  await using model = await TestModel.start({ script: [], toml: RETRY, clock });
  await model.server[Symbol.asyncDispose]();
  const failing = model.complete();
  for (const ms of [250, 500]) {
    await clock.sleeping(ms);
    await clock.advance(ms);
  }
  const { result, events } = await failing;
  assert.equal(result.kind === "failed" && result.error.code, "unreachable");
  assert.equal(events.length, 2);
});

test("no try is made beyond the window", async () => {
  await using model = await TestModel.start({ script: [], toml: "[infer]\nretry_window_ms = 100\n" });
  await model.server[Symbol.asyncDispose]();
  const { result, events } = await model.complete();
  assert.equal(result.kind === "failed" && result.error.code, "unreachable");
  assert.deepEqual(events, []);
});

test("a server that loads its model is tried again until it has", async () => {
  await using model = await TestModel.start({ script: [hello], toml: RETRY });
  model.server.setLoading(true);
  const { result, events } = await model.complete({
    onEvent: (event) => {
      if (event.event === "retrying") model.server.setLoading(false);
    },
  });
  assert.equal(result.kind, "completed");
  assert.equal(events.filter(({ event }) => event === "retrying").length, 1);
});

const lost = stream([...replySteps({ content: "hello" }).slice(0, 3), { kind: "cut" }]);

/** What a person sees of a reply: its text, and what happens to it. */
function seen(events: readonly ModelEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.event === "text") return [event.text];
    return event.event === "discarded" || event.event === "retrying" ? [event.event] : [];
  });
}

test("a connection that is lost before any output is tried again, and nothing is said to be discarded", async () => {
  await using model = await TestModel.start({ script: [stream([{ kind: "cut" }]), hello], toml: RETRY });
  const { result, events } = await model.complete();
  assert.equal(result.kind, "completed");
  assert.deepEqual(seen(events), ["retrying", "hello"]);
  assert.deepEqual(model.server.violations, []);
});

test("a reply that is lost after some of it was shown is announced as discarded and asked for again, once", async () => {
  await using model = await TestModel.start({ script: [lost, hello, lost, lost, hello], toml: RETRY });
  const again = await model.complete();
  assert.equal(again.result.kind === "completed" && again.result.completion.content, "hello");
  const [start = "", ...rest] = seen(again.events);
  assert.notEqual(start, "");
  assert.deepEqual(rest, ["discarded", "retrying", "hello"]);
  const { result, events } = await model.complete();
  assert.deepEqual(result.kind === "failed" && [result.error.code, result.error.hadOutput], ["closed_early", true]);
  assert.deepEqual(seen(events), [start, "discarded", "retrying", start, "discarded"]);
  assert.equal(model.server.requests.length, 4);
  assert.deepEqual(model.server.violations, []);
});

test("the time for trying again begins with the first failure, however long the request waited before it", async () => {
  const clock = new FakeClock();
  const gate = Promise.withResolvers<void>();
  const script = [stream([{ kind: "start" }, { kind: "wait", gate: gate.promise }, { kind: "cut" }]), hello];
  const toml = "[infer]\nretry_attempts = 2\nretry_window_ms = 300\nliveness_ms = 10000\n";
  await using model = await TestModel.start({ script, clock, toml });
  const completing = model.complete();
  await model.server.received(1);
  await clock.sleeping(10_000);
  await clock.advance(9_000);
  gate.resolve();
  await clock.sleeping(250);
  await clock.advance(250);
  assert.equal((await completing).result.kind, "completed");
});

test("a refusal is not tried again, and is classified by what the server said", async () => {
  const overflow = refuse(400, "the request exceeds the available context size", "exceed_context_size_error", { n_ctx: 10 });
  const script = [
    refuse(500, "Jinja", "server_error"),
    overflow,
    refuse(400, "This model's maximum context length is 10 tokens", "BadRequestError"),
  ];
  await using model = await TestModel.start({ script, toml: RETRY });
  assert.equal(await model.failure(), "server_error");
  assert.equal(await model.failure(), "context_full");
  assert.equal(await model.failure(), "context_full");
  assert.equal(model.server.requests.length, 3);
});

test("two requests for one slot never meet in the server, and the second is told that it waits", async () => {
  const gate = Promise.withResolvers<void>();
  await using model = await TestModel.start({
    script: [stream([{ kind: "wait", gate: gate.promise }, ...replySteps({ content: "a" })]), hello],
  });
  const first = model.complete();
  await model.server.received(1);
  const second = model.complete({ onEvent: ({ event }) => event === "queued" && gate.resolve() });
  await Promise.all([first, second]);
  assert.deepEqual((await second).events[0], { event: "queued", ahead: 1 });
  assert.deepEqual(model.server.violations, []);
});

test("a cancelled request is closed at once, and its slot is used again only when the server says that it is free", async () => {
  const held = Promise.withResolvers<void>();
  const never = new Promise(() => {});
  await using model = await TestModel.start({
    script: [stream([{ kind: "start" }, { kind: "wait", gate: never }], { holdSlot: held.promise }), hello],
  });
  const cancel = new AbortController();
  const first = model.failure({ signal: cancel.signal });
  const request = await model.server.received(1);
  cancel.abort();
  assert.equal(await first, "cancelled");
  assert.equal(await request.ended, "client-gone");
  const before = model.server.seen.length;
  const second = model.complete();
  // It looks at the slots and waits, as long as the slot is busy.
  await model.server.sawRequests(before + 2);
  assert.equal(model.server.requests.length, 1);
  held.resolve();
  assert.equal((await second).result.kind, "completed");
  assert.deepEqual(model.server.violations, []);
});

test("a client that is new doesn't send into a slot which one before it left busy, until the server says that it is free", async () => {
  const held = Promise.withResolvers<void>();
  const never = new Promise(() => {});
  await using model = await TestModel.start({
    script: [stream([{ kind: "start" }, { kind: "wait", gate: never }], { holdSlot: held.promise }), hello],
  });
  const first = model.failure();
  const request = await model.server.received(1);
  await model.client[Symbol.asyncDispose]();
  assert.equal(await first, "cancelled");
  assert.equal(await request.ended, "client-gone");
  await using restarted = openModel(await model.home.config(), { clock: systemClock, random: () => 0.5 });
  const waited = Promise.withResolvers<void>();
  const message = { messages: ['{"role":"user","content":"hi"}'], tools: "[]", slot: 0 };
  const onEvent = (event: ModelEvent): void => {
    if (event.event === "waiting" && event.slot_busy) waited.resolve();
  };
  const second = restarted.complete(message, onEvent, new AbortController().signal);
  await Promise.race([waited.promise, second]);
  assert.equal(model.server.requests.length, 1);
  held.resolve();
  assert.equal((await second).kind, "completed");
  assert.deepEqual(model.server.violations, []);
});

test("a request that is cancelled while it waits for its slot is never sent", async () => {
  const gate = Promise.withResolvers<void>();
  await using model = await TestModel.start({
    script: [stream([{ kind: "wait", gate: gate.promise }, ...replySteps({ content: "a" })])],
  });
  const first = model.complete();
  await model.server.received(1);
  const cancel = new AbortController();
  const second = model.failure({ signal: cancel.signal, onEvent: () => cancel.abort() });
  assert.equal(await second, "cancelled");
  gate.resolve();
  await first;
  assert.equal(model.server.requests.length, 1);
});

test("a full line at the slot is busy", async () => {
  const gate = Promise.withResolvers<void>();
  await using model = await TestModel.start({
    script: [stream([{ kind: "wait", gate: gate.promise }, ...replySteps({ content: "a" })]), hello],
    toml: "[infer]\nqueue = 1\n",
  });
  const first = model.complete();
  const second = model.complete();
  assert.equal(await model.failure(), "busy");
  gate.resolve();
  await Promise.all([first, second]);
});

test("a slot that the server doesn't have is slot_missing, and nothing is sent", async () => {
  await using model = await TestModel.start({ script: [], slots: 2 });
  assert.equal(await model.failure({ slot: 2 }), "slot_missing");
  assert.equal(model.server.requests.length, 0);
});

const never = new Promise(() => {});

test("a reply that falls silent is stalled, and its request is closed", async () => {
  const clock = new FakeClock();
  await using model = await TestModel.start({ script: [stream([{ kind: "start" }, { kind: "wait", gate: never }])], clock });
  const failing = model.complete({ onEvent: ({ event }) => event === "progress" && ended.resolve() });
  const ended = Promise.withResolvers<void>();
  await ended.promise;
  await clock.sleeping(90_000);
  await clock.advance(90_000);
  const { result } = await failing;
  assert.deepEqual(result.kind === "failed" && [result.error.code, result.error.hadOutput], ["stalled", false]);
  assert.equal(await (await model.server.received(1)).ended, "client-gone");
});

test("pings keep the connection alive but are no progress", async () => {
  const clock = new FakeClock();
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const steps = gates.flatMap(({ promise }) => [{ kind: "wait", gate: promise } as const, { kind: "ping" } as const]);
  const script = [stream([{ kind: "start" }, ...steps, { kind: "wait", gate: never }])];
  await using model = await TestModel.start({ script, clock, toml: "[infer]\nliveness_ms = 100\nprogress_ms = 250\n" });
  const failing = model.failure();
  await model.server.received(1);
  await clock.sleeping(100);
  for (const gate of gates) {
    await clock.advance(90);
    gate.resolve();
    // Whether the ping is there before the next step is not ours to know; the deadline is either way.
    await clock.advance(0);
  }
  await clock.advance(250);
  assert.equal(await failing, "stalled");
});

test("a reply that never ends is stopped at its deadline", async () => {
  const clock = new FakeClock();
  const script = [stream([{ kind: "start" }, { kind: "wait", gate: never }])];
  await using model = await TestModel.start({ script, clock, toml: "[infer]\ncompletion_ms = 50\n" });
  const failing = model.failure();
  await model.server.received(1);
  await clock.sleeping(50);
  await clock.advance(50);
  assert.equal(await failing, "deadline");
});

test("a head that doesn't come is waited for while the slot is busy, said each time, and given up at the limit", async () => {
  const clock = new FakeClock();
  const script = [stream([{ kind: "wait", gate: never }])];
  await using model = await TestModel.start({ script, clock, toml: "[infer]\npoll_ms = 10\nbusy_ms = 30\n" });
  const failing = model.complete();
  await model.server.received(1);
  for (let poll = 0; poll < 4; poll++) {
    await clock.sleeping(10);
    await clock.advance(10);
  }
  const { result, events } = await failing;
  assert.equal(result.kind === "failed" && result.error.code, "wait_timeout");
  assert.deepEqual(events, Array(4).fill({ event: "waiting", slot_busy: true }));
});

test("a head that doesn't come from a server that loads is given up at the limit for loading", async () => {
  const clock = new FakeClock();
  const script = [stream([{ kind: "wait", gate: never }])];
  await using model = await TestModel.start({
    script,
    clock,
    toml: "[infer]\nretry_attempts = 1\npoll_ms = 10\nloading_ms = 10\n",
  });
  const failing = model.complete();
  await model.server.received(1);
  model.server.setLoading(true);
  for (let poll = 0; poll < 2; poll++) {
    await clock.sleeping(10);
    await clock.advance(10);
  }
  const { result, events } = await failing;
  assert.equal(result.kind === "failed" && result.error.code, "wait_timeout");
  assert.deepEqual(events, Array(2).fill({ event: "waiting", slot_busy: false }));
});

test("a server without slots is given one limit for its head, and nothing but the common API", async () => {
  const clock = new FakeClock();
  const script = [hello, stream([{ kind: "wait", gate: never }])];
  await using model = await TestModel.start({ script, clock, flavour: "openai", toml: "[infer]\nhead_ms = 40\n" });
  const { result } = await model.complete();
  assert.deepEqual(result.kind === "completed" && [result.completion.content, result.completion.cacheHit], ["hello", null]);
  const failing = model.failure();
  await model.server.received(2);
  await clock.sleeping(40);
  await clock.advance(40);
  assert.equal(await failing, "wait_timeout");
  assert.deepEqual([...new Set(model.server.seen)], ["GET /props", "POST /v1/chat/completions"]);
  const body: unknown = JSON.parse(model.server.requests[0]?.body.toString() ?? "");
  assert.deepEqual(Object.keys(body as object), ["model", "stream", "stream_options", "max_tokens", "messages"]);
});

test("a server that fails when it is asked what it is isn't taken for one without slots", async () => {
  await using home = await TestHome.make();
  const infer = home.at("run/infer/infer.sock");
  let status = 500;
  const routes = () => ({ status, body: "{}" });
  await using _server = await startModelServer({ script: [], routes, listen: { kind: "unix", path: infer } });
  await using http = new ModelHttp(infer, 1_000);
  const model = new ModelServer(http, "auto");
  const { signal } = new AbortController();
  await assert.rejects(model.info(signal), (error) => error instanceof CompletionError && error.error.code === "server_error");
  status = 504;
  await assert.rejects(model.info(signal), (error) => error instanceof CompletionError && error.error.code === "loading");
  assert.equal(model.hasNoSlots, false);
  status = 404;
  assert.deepEqual(await model.info(signal), { kind: "openai" });
});

test("a config that says llama-server takes no other", async () => {
  await using model = await TestModel.start({ script: [], flavour: "openai", toml: '[infer]\nserver = "llama-server"\n' });
  assert.equal(await model.failure(), "server_error");
});

test("backoffMs() doubles up to a bound, with a jitter of a half either way", () => {
  assert.deepEqual(
    [1, 2, 3, 20].map((attempt) => backoffMs(attempt, 0.5)),
    [250, 500, 1_000, 8_000],
  );
  assert.deepEqual(
    [0, 1].map((random) => backoffMs(1, random)),
    [125, 375],
  );
});

test("isRetryable() says yes only where the server went away before it said anything", () => {
  const error = (code: "unreachable" | "loading" | "closed_early" | "server_error" | "cancelled", hadOutput = false) => ({
    code,
    detail: "",
    hadOutput,
  });
  assert.deepEqual(
    [
      error("unreachable"),
      error("loading"),
      error("closed_early"),
      error("closed_early", true),
      error("server_error"),
      error("cancelled"),
    ].map(isRetryable),
    [true, true, true, true, false, false],
  );
});
