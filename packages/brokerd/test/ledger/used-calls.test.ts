/** A call number is used once in its session, in this life of brokerd and in every other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallId } from "@boxmaker/proto";
import fc from "fast-check";
import { isUsed } from "../../src/ledger/session-states.ts";
import { untilToldOrKilled } from "../fakes/recording-runtime.ts";
import { ask } from "../support/client.ts";
import { BoxFiles, Rig, settle } from "../support/rig.ts";
import { call, serve } from "../support/served.ts";

test("a number that its session has used is refused, decides nothing, and is free in other sessions", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  {
    await using rig = await Rig.open(files);
    await rig.read("a", { call: 5 }).outcome;
    assert.equal(await rig.read("a", { call: 5 }).outcome, "reused_call");
    const free = await rig.read("a", { call: 5, session: "other" }).outcome;
    assert.equal(typeof free === "object" && free.outcome, "result");
    // A denied one is used, too.
    await rig.write("a", { call: 6 }).outcome;
    assert.equal(await rig.read("a", { call: 6 }).outcome, "reused_call");
    assert.ok(rig.lines.some((line) => line.includes("reused-call session=chat-1 call=5")));
  }
  await using rig = await Rig.open(files);
  assert.equal(await rig.read("a", { call: 5 }).outcome, "reused_call");
  assert.equal(files.events("decision").length, 3);
});

test("of two calls of one number at the same moment one is decided", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("shell", "shell", "auto", "", [files.at("notes")]);
  await using rig = await Rig.open(files);
  const outcomes = await Promise.all([rig.read("a", { call: 1 }).outcome, rig.read("b", { call: 1 }).outcome]);
  assert.equal(outcomes.filter((outcome) => outcome === "reused_call").length, 1);
  // One that waits for another session's box hasn't used its number yet; whichever is decided first has.
  const box = untilToldOrKilled();
  rig.runtime.answer = box.answer;
  const writing = rig.send("shell", { command: "true" }, { session: "other" });
  while (rig.runtime.running === 0) await settle();
  const waiting = rig.read("a", { call: 2 });
  const denied = await rig.write("a", { call: 2 }).outcome;
  assert.deepEqual(denied, { outcome: "denied", reason: "no_grant" });
  box.end();
  assert.equal(await waiting.outcome, "reused_call");
  await writing.outcome;
});

test("numbers may come in another order than they were taken in, and none is taken twice", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(100), { minLength: 1, maxLength: 20 }), async (numbers) => {
      using files = new BoxFiles();
      await using rig = await Rig.open(files);
      const seen = new Set<number>();
      for (const number of numbers) {
        const outcome = await rig.read("a", { call: number }).outcome;
        const highest = Math.max(-1, ...seen);
        if (seen.has(number)) assert.equal(outcome, "reused_call");
        else if (number > highest - 64) assert.notEqual(outcome, "reused_call");
        if (outcome !== "reused_call") seen.add(number);
        const { calls } = [...rig.states.contents().sessions][0]?.[1] ?? assert.fail();
        assert.ok(isUsed(calls, CallId.parse(number)));
        assert.ok(calls.missed.length <= 64);
      }
    }),
    { numRuns: 15 },
  );
});

test("on the broker's socket a used number is forbidden", async () => {
  await using served = await serve();
  const request = call(served, "read_file");
  assert.equal((await ask(served.broker, request)).kind, "tool_response");
  assert.deepEqual(await ask(served.broker, request), {
    kind: "error",
    body: { code: "forbidden", detail: "call: the session has used this number before; see docs/runbook.md#reused-call" },
  });
});
