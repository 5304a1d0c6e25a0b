import assert from "node:assert/strict";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import type { ToolOutcome } from "@boxmaker/proto";
import { codeOf, contentOf, namesOf } from "../support/loop-client.ts";
import { type AnswerCall, result } from "../support/scripted-broker.ts";
import { TestLoop } from "../support/test-loop.ts";

const done = reply({ content: "done" });
const read = (path: string, id?: string) => ({
  name: "read_file",
  arguments: JSON.stringify({ path }),
  ...(id === undefined ? {} : { id }),
});
const answering: AnswerCall = async (_request, send) => {
  await send(result("text"), true);
};

/** What the model was told of its calls in request number `index` (from 0). */
function toldIn(loop: TestLoop, index: number): readonly unknown[] {
  const messages = loop.model.requests[index]?.chat.messages ?? [];
  const asked = messages.findLastIndex(({ role }) => role === "assistant");
  return messages.slice(asked + 1).map(({ content }) => content);
}

test("a model that never answers is stopped after the limit of requests, and the next turn is well-formed", async () => {
  let calls = 0;
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index < 3 ? reply({ calls: [read(`/n/${calls++}`)] }) : done) },
    broker: answering,
    toml: "[limits]\niterations = 3\n",
  });
  assert.equal(codeOf(await loop.client.turn("s1", "go")), "turn_limit");
  assert.equal(loop.model.requests.length, 3);
  assert.equal(contentOf(await loop.client.turn("s1", "again", { resume: true })), "done");
  const roles = loop.model.requests[3]?.chat.messages.map(({ role }) => role);
  assert.deepEqual(roles?.slice(-4), ["assistant", "tool", "assistant", "user"]);
});

test("the same call again is answered without the broker, and a third time ends the turn", async () => {
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index < 3 ? reply({ calls: [read("/n/a")] }) : done) },
    broker: answering,
  });
  const turn = await loop.client.turn("s1", "go");
  assert.equal(codeOf(turn), "turn_limit");
  assert.equal(loop.broker.requests.length, 1);
  assert.match(String(toldIn(loop, 2)[0]), /^Already called/u);
  assert.deepEqual(namesOf(turn), ["tool_call", "tool_result", "tool_call", "tool_failed", "tool_call"]);
  // A new turn counts anew.
  assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "done");
});

test("a repeated call is the same through call_tool, with other spaces and other ids", async () => {
  const viaCallTool = { name: "call_tool", arguments: '{"name":"read_file","arguments":{ "path": "/n/a" }}' };
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read("/n/a", "x"), viaCallTool] }), done] },
    broker: answering,
  });
  assert.equal(contentOf(await loop.client.turn("s1", "go")), "done");
  assert.equal(loop.broker.requests.length, 1);
  assert.match(String(toldIn(loop, 1)[1]), /^Already called/u);
});

test("calls past the limit of one reply are not run, and the model is told", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read("/a"), read("/b"), read("/c")] }), done] },
    broker: answering,
    toml: "[limits]\ncalls = 2\n",
  });
  assert.equal(contentOf(await loop.client.turn("s1", "go")), "done");
  assert.deepEqual(
    loop.broker.requests.map(({ arguments: text }) => text),
    ['{"path":"/a"}', '{"path":"/b"}'],
  );
  assert.match(String(toldIn(loop, 1)[2]), /^Not run: one reply can make at most 2 calls/u);
});

test("results come in the order of the calls, and call ids rise by one", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read("/a"), read("/b")] }), done] },
    broker: async ({ call }, send) => {
      await send(result(`result ${call}`), true);
    },
  });
  await loop.client.turn("s1", "go");
  assert.deepEqual(toldIn(loop, 1), ["result 1", "result 2"]);
});

test("a long result is cut at a character's boundary, saying so, and the event says that it was", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read("/a")] }), done] },
    broker: async (_request, send) => {
      await send(result("ä".repeat(10_000)), true);
    },
    toml: "[limits]\nresult_bytes = 1001\n",
  });
  const turn = await loop.client.turn("s1", "go");
  const [content] = toldIn(loop, 1);
  assert.match(String(content), /^ä+\n\[cut: the first part of 20000 bytes\]$/u);
  assert.ok(Buffer.byteLength(String(content)) <= 1001);
  assert.deepEqual(
    turn.events.find(({ event }) => event === "tool_result"),
    { event: "tool_result", tool: "read_file", class: "public", truncated: true },
  );
});

test("a denial and a failure reach the model as their sentences, and the turn goes on", async () => {
  const outcomes: ToolOutcome[] = [
    { outcome: "denied", reason: "no_grant" },
    { outcome: "failed", message: "Failed: the box broke." },
  ];
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read("/a"), read("/b")] }), done] },
    broker: async ({ call }, send) => {
      const body = outcomes[call - 1];
      if (body !== undefined) await send({ kind: "tool_response", body }, true);
    },
  });
  const turn = await loop.client.turn("s1", "go");
  assert.equal(contentOf(turn), "done");
  assert.deepEqual(toldIn(loop, 1), ["Denied: no grant of the owner allows this call.", "Failed: the box broke."]);
  assert.deepEqual(
    turn.events.filter(({ event }) => event === "tool_denied" || event === "tool_failed"),
    [
      { event: "tool_denied", tool: "read_file", reason: "no_grant" },
      { event: "tool_failed", tool: "read_file", message: "Failed: the box broke." },
    ],
  );
});

test("the calls of a reply that was cut at its length limit are not run", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read("/a")], finish: "length" }), done] },
    broker: answering,
  });
  assert.equal(contentOf(await loop.client.turn("s1", "go")), "done");
  assert.equal(loop.broker.requests.length, 0);
  assert.match(String(toldIn(loop, 1)[0]), /cut at its length limit/u);
});

test("taint is said when a result raises what the session has seen, and not again", async () => {
  const labels = [
    result("a"),
    result("b", { class: "private" }),
    result("c", { untrusted: true }),
    result("d", { class: "private" }),
  ];
  await using loop = await TestLoop.start({
    model: {
      script: [reply({ calls: [read("/a"), read("/b"), read("/c"), read("/d")] }), done, reply({ calls: [read("/b")] }), done],
    },
    broker: async ({ call }, send) => {
      await send(labels[call - 1] ?? result("e", { class: "private" }), true);
    },
  });
  const turn = await loop.client.turn("s1", "go");
  assert.deepEqual(
    turn.events.filter(({ event }) => event === "taint"),
    [
      { event: "taint", from: "public", to: "private", untrusted: false, tool: "read_file" },
      { event: "taint", from: "private", to: "private", untrusted: true, tool: "read_file" },
    ],
  );
  await loop.restart();
  const later = await loop.client.turn("s1", "again", { resume: true });
  assert.deepEqual(
    later.events.filter(({ event }) => event === "taint"),
    [],
  );
});

test("an empty answer ends the turn, and the conversation goes on", async () => {
  await using loop = await TestLoop.start({ model: { script: [reply({}), done] } });
  assert.equal(contentOf(await loop.client.turn("s1", "go")), "");
  assert.equal(contentOf(await loop.client.turn("s1", "go", { resume: true })), "done");
});

test("usage is the sum of the turn's requests", async () => {
  await using loop = await TestLoop.start({ model: { script: [reply({ calls: [read("/a")] }), done] }, broker: answering });
  const turn = await loop.client.turn("s1", "go");
  const usages = (await loop.records("s1")).flatMap((record) => (record.kind === "usage" ? [record.usage] : []));
  assert.equal(usages.length, 2);
  const prompt = usages.reduce((sum, usage) => sum + usage.prompt, 0);
  assert.equal(turn.end.kind === "turn_done" && turn.end.body.usage.prompt, prompt);
});
