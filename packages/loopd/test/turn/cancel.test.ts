import assert from "node:assert/strict";
import { test } from "node:test";
import { reply, replySteps, stream } from "@boxmaker/demo-model";
import { codeOf, contentOf } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { TestLoop } from "../support/test-loop.ts";

const never = new Promise(() => {});
const hanging = stream([...replySteps({ content: "one two three" }).slice(0, 2), { kind: "wait", gate: never }]);
const read = { name: "read_file", arguments: '{"path":"/a"}' };
const done = reply({ content: "done" });

test("cancel ends a reply at once: the request is closed, nothing of it is kept, the session goes on", async () => {
  await using loop = await TestLoop.start({ model: { script: [hanging, done] } });
  const turn = loop.client.turn("s1", "go", { onEvent: ({ event }) => event === "text" && streaming.resolve() });
  const streaming = Promise.withResolvers<void>();
  await streaming.promise;
  assert.deepEqual(await loop.client.ask("cancel", { session: "s1" }), { kind: "ok", body: {} });
  assert.equal(codeOf(await turn), "cancelled");
  assert.equal(await (await loop.model.received(1)).ended, "client-gone");
  assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "done");
  assert.deepEqual(
    loop.model.requests[1]?.chat.messages.map(({ role }) => role),
    ["system", "user", "assistant", "user"],
  );
  assert.deepEqual(loop.model.violations, []);
});

test("cancel while the owner is asked gives the call up, and every call of the reply has a result in the next request", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read, { name: "clock", arguments: "{}" }] }), done] },
    broker: async (_request, send, gone) => {
      await send({ kind: "pending_approval", body: { approval: 7, expires: "2099-01-01T00:00:00.000Z" } } as never, false);
      await new Promise<void>((resolve) => gone.addEventListener("abort", () => resolve(), { once: true }));
    },
  });
  const turn = loop.client.turn("s1", "go", { onEvent: ({ event }) => event === "approval_pending" && asked.resolve() });
  const asked = Promise.withResolvers<void>();
  await asked.promise;
  await loop.client.ask("cancel", { session: "s1" });
  assert.equal(codeOf(await turn), "cancelled");
  assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "done");
  const told = loop.model.requests[1]?.chat.messages.slice(-4).map(({ role, content }) => [role, content]);
  assert.deepEqual(told, [
    ["tool", "Interrupted: the call was sent, and whether it ran is unknown."],
    ["tool", "Not run: the turn ended before this call."],
    ["assistant", "[No answer: this turn ended early.]"],
    ["user", "go on"],
  ]);
});

test("cancel during a call waits for its result and records it, and no further call is made", async () => {
  const release = Promise.withResolvers<void>();
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [read, { name: "shell", arguments: '{"command":"ls"}' }] }), done] },
    broker: async (_request, send) => {
      await release.promise;
      await send(result("text"), true);
    },
  });
  const turn = loop.client.turn("s1", "go");
  await loop.broker.received(1);
  await loop.client.ask("cancel", { session: "s1" });
  release.resolve();
  assert.equal(codeOf(await turn), "cancelled");
  assert.equal(loop.broker.requests.length, 1);
  const results = (await loop.records("s1")).filter(({ kind }) => kind === "tool_result");
  assert.deepEqual(
    results.map((record) => record.kind === "tool_result" && record.content),
    ["text", "Not run: the turn ended before this call."],
  );
});

test("cancel of a session that isn't there is no_such_session, of one that is idle is ok", async () => {
  await using loop = await TestLoop.start({ model: { script: [done] } });
  assert.equal((await loop.client.ask("cancel", { session: "s1" })).kind, "error");
  await loop.client.turn("s1", "go");
  assert.equal((await loop.client.ask("cancel", { session: "s1" })).kind, "ok");
});
