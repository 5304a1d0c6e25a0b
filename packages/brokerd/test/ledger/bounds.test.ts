/** What no flood gets past: asks an hour, sessions a minute, boxes at a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApprovalId, SessionId } from "@boxmaker/proto";
import { RateLimit } from "../../src/ledger/rate-limit.ts";
import { FakeClock } from "../fakes/fake-clock.ts";
import { DONE } from "../fakes/recording-runtime.ts";
import { BoxFiles, Rig, type SentCall, settle } from "../support/rig.ts";

const THROTTLED = { outcome: "denied", reason: "throttled" };

test("a rate limit counts what happened within the span before now, and is kept by the clock that isn't set back", () => {
  const clock = new FakeClock();
  const limit = new RateLimit(2, 1000, clock);
  limit.take();
  clock.advance(600);
  limit.take();
  assert.equal(limit.isFree, false);
  clock.set(0);
  clock.advance(399);
  assert.equal(limit.isFree, false);
  clock.advance(1);
  assert.equal(limit.isFree, true);
  limit.take();
  assert.equal(limit.isFree, false);
});

test("an owner isn't asked for what the runtime can't run; what needs no asking is let run, and fails there", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  rig.runtime.lacking = ["read_file", "write_file"];
  assert.deepEqual(await rig.write("a").outcome, { outcome: "denied", reason: "no_sandbox" });
  assert.equal(files.events("decision").at(-1)?.reason, "no_sandbox");
  const read = await rig.read("a").outcome;
  assert.equal(typeof read === "object" && read.outcome, "result");
  rig.runtime.lacking = [];
  await rig.refuse(await rig.write("a").pending);
});

test("an owner is given so many asks an hour, over all sessions; the rest is denied on record, and other calls go on", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files, { asksPerHour: 3 });
  for (let number = 0; number < 3; number++) {
    const sent = rig.write("a", { session: `s-${number}` });
    await rig.refuse(await sent.pending);
  }
  assert.deepEqual(await rig.write("a", { session: "s-9" }).outcome, THROTTLED);
  assert.equal(files.events("decision").at(-1)?.reason, "throttled");
  const read = await rig.read("a").outcome;
  assert.equal(typeof read === "object" && read.outcome, "result");
  rig.clock.advance(3_600_000);
  const next = rig.write("a", { session: "s-9" });
  await rig.refuse(await next.pending);
});

test("when two asks of a turn have been refused the rest of its asks is denied on record, and what needs no answer goes on", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  for (const name of ["a", "b"]) await rig.refuse(await rig.write(name, { turn: 0 }).pending);
  assert.deepEqual(await rig.write("c", { turn: 0 }).outcome, THROTTLED);
  assert.deepEqual(files.events("decision").at(-1)?.reason, "throttled");
  const read = await rig.read("a", { turn: 0 }).outcome;
  assert.equal(typeof read === "object" && read.outcome, "result");
  // Another session's turn of that number is another one, and so is the session's next.
  await rig.refuse(await rig.write("c", { turn: 0, session: "other" }).pending);
  const next = rig.write("c", { turn: 5 });
  await rig.approve(await next.pending);
  const outcome = await next.outcome;
  assert.equal(typeof outcome === "object" && outcome.outcome, "result");
});

test("only refusals of one turn count: not what was approved, expired or left, nor one refusal each of two turns", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files, { ttlMs: 1000 });
  const asked = async (turn: number): Promise<{ readonly sent: SentCall; readonly id: ApprovalId }> => {
    const sent = rig.write("a", { turn });
    return { sent, id: await sent.pending };
  };
  await rig.refuse((await asked(0)).id);
  const approved = await asked(0);
  await rig.approve(approved.id);
  await approved.sent.outcome;
  const expired = await asked(0);
  rig.clock.advance(1000);
  await expired.sent.outcome;
  const left = await asked(0);
  left.sent.leave();
  await left.sent.outcome;
  await rig.refuse((await asked(1)).id);
  await rig.refuse((await asked(2)).id);
  await rig.refuse((await asked(2)).id);
  assert.deepEqual(await rig.write("a", { turn: 2 }).outcome, THROTTLED);
});

test("so many sessions are opened a minute; a call of a further one is denied on record and opens nothing", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files, { sessionsPerMinute: 2 });
  for (const session of ["one", "two", "one"]) {
    const outcome = await rig.read("a", { session }).outcome;
    assert.equal(typeof outcome === "object" && outcome.outcome, "result");
  }
  assert.deepEqual(await rig.read("a", { session: "three" }).outcome, THROTTLED);
  // What policy denies is said to be denied by policy, but opens nothing either.
  assert.deepEqual(await rig.write("a", { session: "four" }).outcome, { outcome: "denied", reason: "no_grant" });
  assert.deepEqual(
    files.events("session_opened").map(({ session }) => session),
    ["one", "two"],
  );
  assert.equal(files.events("decision").length, 5);
  assert.equal(rig.states.session(SessionId.parse("three")), undefined);
  rig.clock.advance(60_000);
  const outcome = await rig.read("a", { session: "three" }).outcome;
  assert.equal(typeof outcome === "object" && outcome.outcome, "result");
});

test("no more boxes run than the limit; the calls behind them wait in their order, and each runs", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files, { maxBoxes: 2 });
  const held: (() => void)[] = [];
  let most = 0;
  rig.runtime.answer = () => {
    most = Math.max(most, rig.runtime.running);
    return new Promise((resolve) => held.push(() => resolve(DONE)));
  };
  const calls = Array.from({ length: 7 }, (_, number) => rig.read(`n-${number}`, { session: `s-${number}` }));
  for (let ended = 0; ended < 7; ended++) {
    while (held.length === 0) await new Promise(setImmediate);
    await settle();
    held.shift()?.();
  }
  await Promise.all(calls.map(({ outcome }) => outcome));
  assert.equal(most, 2);
  assert.deepEqual(
    files.events("decision").map(({ session }) => session),
    calls.map((_, number) => `s-${number}`),
  );
  assert.equal(rig.ledger.running, 0);
});

test("a flood of one session leaves room for another one's call", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files, { maxBoxes: 4 });
  const ends = Promise.withResolvers<void>();
  rig.runtime.answer = async () => {
    await ends.promise;
    return DONE;
  };
  const flood = Array.from({ length: 20 }, () => rig.read("a", { session: "loud" }));
  while (rig.runtime.running < 2) await new Promise(setImmediate);
  await settle();
  const quiet = rig.read("a", { session: "quiet" });
  while (rig.runtime.running < 3) await new Promise(setImmediate);
  await settle();
  assert.deepEqual(
    files.events("decision").map(({ session }) => session),
    ["loud", "loud", "quiet"],
  );
  ends.resolve();
  await Promise.all([...flood, quiet].map(({ outcome }) => outcome));
  assert.equal(files.events("result").length, 21);
});

test("a call that waits for room raises nothing, and one whose requester leaves meanwhile is denied on record", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto", 'label = "secret"');
  await using rig = await Rig.open(files, { maxBoxes: 1 });
  const held: (() => void)[] = [];
  rig.runtime.answer = () => new Promise((resolve) => held.push(() => resolve(DONE)));
  const first = rig.read("a");
  while (held.length === 0) await new Promise(setImmediate);
  const waiting = rig.read("b", { session: "two" });
  await settle();
  assert.equal(rig.states.session(SessionId.parse("two")), undefined);
  waiting.leave();
  assert.deepEqual(await waiting.outcome, { outcome: "denied", reason: "requester_gone" });
  assert.deepEqual(rig.states.session(SessionId.parse("two"))?.label, { taint: "public", untrusted: false });
  held[0]?.();
  await first.outcome;
});
