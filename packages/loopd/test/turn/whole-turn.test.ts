import assert from "node:assert/strict";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import { codeOf, contentOf, namesOf, textOf } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { TestLoop } from "../support/test-loop.ts";

test("a turn without tools streams the text and ends with it", async () => {
  await using loop = await TestLoop.start({ model: { script: [reply({ reasoning: "Let me greet.", content: "Hello there." })] } });
  const turn = await loop.client.turn("s1", "hi");
  assert.equal(contentOf(turn), "Hello there.");
  assert.equal(textOf(turn), "Hello there.");
  assert.equal(turn.events.map((event) => (event.event === "reasoning" ? event.text : "")).join(""), "Let me greet.");
  assert.deepEqual(loop.model.violations, []);
});

test("a turn with a tool call sends it to the broker as the model wrote it, and tells the model the result", async () => {
  await using loop = await TestLoop.start({
    model: {
      script: [
        reply({ calls: [{ name: "read_file", arguments: '{"path": "/n/todo.md"}', id: "abc" }] }),
        reply({ content: "It says: buy milk." }),
      ],
    },
    broker: async (_request, answer) => {
      await answer(result("buy milk", { class: "private" }), true);
    },
  });
  const turn = await loop.client.turn("s1", "read todo.md");
  assert.equal(contentOf(turn), "It says: buy milk.");
  const request = { session: "s1", call: 1, turn: 1, tool: "read_file", arguments: '{"path": "/n/todo.md"}' };
  assert.deepEqual(loop.broker.requests, [request]);
  assert.deepEqual(namesOf(turn), ["tool_call", "tool_result", "taint"]);
  const messages = loop.model.requests[1]?.chat.messages ?? [];
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["system", "user", "assistant", "tool"],
  );
  assert.equal(messages.at(-1)?.content, "buy milk");
  assert.deepEqual(
    (await loop.records("s1")).map(({ kind }) => kind),
    ["session_start", "user", "assistant", "usage", "call_sent", "tool_result", "assistant", "usage"],
  );
});

test("each call says which was the first one of its turn", async () => {
  const callOf = (path: string) => ({ name: "read_file", arguments: JSON.stringify({ path }) });
  await using loop = await TestLoop.start({
    model: {
      script: [
        reply({ calls: [callOf("/n/a"), callOf("/n/b")] }),
        reply({ content: "Two." }),
        reply({ calls: [callOf("/n/c")] }),
        reply({ calls: [callOf("/n/d")] }),
        reply({ content: "Two more." }),
      ],
    },
    broker: async (_request, answer) => {
      await answer(result("x"), true);
    },
  });
  await loop.client.turn("s1", "read two");
  await loop.client.turn("s1", "and two more", { resume: true });
  assert.deepEqual(
    loop.broker.requests.map(({ call, turn }) => [call, turn]),
    [
      [1, 1],
      [2, 1],
      [3, 3],
      [4, 3],
    ],
  );
});

test("a session that must exist and doesn't is no_such_session, one that must not and does is session_exists", async () => {
  await using loop = await TestLoop.start({ model: { script: [reply({ content: "a" })] } });
  assert.equal(codeOf(await loop.client.turn("s1", "hi", { resume: true })), "no_such_session");
  await loop.client.turn("s1", "hi");
  assert.equal(codeOf(await loop.client.turn("s1", "hi")), "session_exists");
});
