import assert from "node:assert/strict";
import { test } from "node:test";
import type { TurnEvent } from "@boxmaker/proto";
import { EventOutbox } from "../../src/channel/event-outbox.ts";

const text = (words: string): TurnEvent => ({ event: "text", text: words });

test("EventOutbox sends in order and joins pieces of text that wait together", async () => {
  const sent: TurnEvent[] = [];
  const gate = Promise.withResolvers<void>();
  const outbox = new EventOutbox(
    async (event) => {
      sent.push(event);
      await gate.promise;
      return "sent";
    },
    () => assert.fail("not dropped"),
  );
  outbox.push(text("a"));
  outbox.push(text("b"));
  outbox.push(text("c"));
  outbox.push({ event: "progress", done: 1, total: 9 });
  outbox.push({ event: "progress", done: 2, total: 9 });
  outbox.push({ event: "reasoning", text: "d" });
  outbox.push(text("e"));
  gate.resolve();
  assert.equal(await outbox.drain(), "sent");
  assert.deepEqual(sent, [
    text("a"),
    text("bc"),
    { event: "progress", done: 2, total: 9 },
    { event: "reasoning", text: "d" },
    text("e"),
  ]);
});

test("EventOutbox gives up a client that has gone, once, and takes events ever after", async () => {
  let dropped = 0;
  const outbox = new EventOutbox(
    async () => "gone",
    () => dropped++,
  );
  outbox.push(text("a"));
  assert.equal(await outbox.drain(), "gone");
  outbox.push(text("b"));
  assert.equal(await outbox.drain(), "gone");
  assert.equal(dropped, 1);
});

test("EventOutbox gives up a client for which too much waits", async () => {
  let dropped = 0;
  const gate = Promise.withResolvers<"sent">();
  const outbox = new EventOutbox(
    async () => await gate.promise,
    () => dropped++,
  );
  for (let index = 0; index < 20_001; index++) outbox.push({ event: "tool_call", tool: "shell" });
  assert.equal(dropped, 1);
  gate.resolve("sent");
  assert.equal(await outbox.drain(), "gone");
});

test("EventOutbox bounds the text that waits", () => {
  let dropped = 0;
  const outbox = new EventOutbox(
    async () => await new Promise(() => {}),
    () => dropped++,
  );
  for (let index = 0; index < 6; index++) outbox.push(text("x".repeat(1_000_000)));
  assert.equal(dropped, 1);
});
