import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelEvent } from "../../src/model/completion.ts";
import { SlotGate } from "../../src/model/slot-gate.ts";

const never = new AbortController().signal;

test("SlotGate lets one in per slot, the others in their order, each told how many are ahead", async () => {
  const gate = new SlotGate(10);
  const events: (readonly [who: string, event: ModelEvent])[] = [];
  const enter = async (who: string) => await gate.acquire(0, (event) => events.push([who, event]), never);
  const first = await enter("a");
  const order: string[] = [];
  const waiting = ["b", "c"].map(async (who) => {
    const permit = await enter(who);
    order.push(who);
    permit?.release();
  });
  first?.release();
  await Promise.all(waiting);
  assert.deepEqual(order, ["b", "c"]);
  assert.deepEqual(events, [
    ["b", { event: "queued", ahead: 1 }],
    ["c", { event: "queued", ahead: 2 }],
    ["c", { event: "queued", ahead: 1 }],
  ]);
});

test("SlotGate keeps slots apart", async () => {
  const gate = new SlotGate(1);
  await gate.acquire(0, () => {}, never);
  assert.notEqual(await gate.acquire(1, () => {}, never), undefined);
});

test("SlotGate turns away when too many wait", async () => {
  const gate = new SlotGate(1);
  const held = await gate.acquire(0, () => {}, never);
  const second = gate.acquire(0, () => {}, never);
  assert.equal(await gate.acquire(0, () => {}, never), undefined);
  held?.release();
  assert.notEqual(await second, undefined);
});

test("SlotGate: one who leaves the line lets the others move up, and is never given the slot", async () => {
  const gate = new SlotGate(10);
  const held = await gate.acquire(0, () => {}, never);
  const leaving = new AbortController();
  const left = gate.acquire(0, () => {}, leaving.signal);
  const ahead: number[] = [];
  const last = gate.acquire(0, (event) => event.event === "queued" && ahead.push(event.ahead), never);
  leaving.abort(new Error("left"));
  await assert.rejects(left, /left/u);
  held?.release();
  const permit = await last;
  assert.deepEqual(ahead, [2, 1]);
  permit?.release();
  permit?.release();
  assert.notEqual(await gate.acquire(0, () => {}, never), undefined);
});
