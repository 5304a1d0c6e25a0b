import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AuditTally } from "../../src/index.ts";
import {
  approval,
  decision,
  hashOf,
  LogBuilder,
  type LogFiles,
  linesOf,
  result,
  soundLog,
  started,
  stopped,
} from "./log-builder.ts";
import { readMemory } from "./read-memory.ts";

const NOTHING = { total: 0, first: [] };

function seqs(...first: readonly number[]): { total: number; first: readonly number[] } {
  return { total: first.length, first };
}

test("a log in which everything was answered and finished leaves nothing open", async () => {
  const { lists } = await readMemory(soundLog().build());
  assert.deepEqual(lists, {
    records: 11,
    unansweredAsks: NOTHING,
    unfinishedCalls: NOTHING,
    recoveries: NOTHING,
    acceptedBreaks: NOTHING,
    acceptedLosses: NOTHING,
    clockSteps: NOTHING,
    misnamedFiles: NOTHING,
    strays: NOTHING,
  });
});

test("an ask is open until it is answered, and a call from its decision or approval until its result", async () => {
  const log = new LogBuilder()
    .add(started(0), decision(1, "ask"), decision(2, "allowed"), decision(3, "ask"), approval(4, "approved"))
    .add(decision(4, "ask"), approval(6, "approved", "denied"), decision(5, "ask"), approval(8, "expired"), decision(6, "denied"));
  const { lists } = await readMemory(log.build());
  assert.deepEqual(lists.unansweredAsks, seqs(2));
  assert.deepEqual(lists.unfinishedCalls, seqs(3, 4));
  assert.deepEqual(lists.strays, NOTHING);
});

test("calls are listed in the order of their decisions, whenever they were let run", async () => {
  const log = new LogBuilder().add(started(0), decision(1, "ask"), decision(2, "allowed"), approval(2, "approved"));
  assert.deepEqual((await readMemory(log.build())).lists.unfinishedCalls, seqs(2, 3));
});

test("an answer without its ask, a second one, and a result without its call are strays", async () => {
  const log = new LogBuilder()
    .add(started(0), approval(1, "refused"), decision(1, "ask"), approval(3, "refused"), approval(3, "approved"))
    .add(result(3, 1), decision(2, "allowed"), result(7, 2), result(7, 2));
  const { lists } = await readMemory(log.build());
  assert.deepEqual(lists.strays, seqs(2, 5, 6, 9));
  assert.deepEqual(lists.unfinishedCalls, NOTHING);
});

test("recoveries, clock steps and files that begin with an earlier day's record are listed", async () => {
  const log = new LogBuilder().add(started(0));
  const { offset } = log;
  log.raw("half\n").add(log.recovery(offset, "half"));
  log.day("2026-01-07");
  log.time = "2026-01-04T08:00:00.000Z";
  log.add(stopped(), started(3));
  const { lists } = await readMemory(log.build());
  assert.deepEqual(lists.recoveries, { total: 1, first: [{ seq: 2, file: "2026-01-05.jsonl", offset, bytes: 4 }] });
  const step = { seq: 3, from: "2026-01-05T08:00:00.000Z", to: "2026-01-04T08:00:00.000Z" };
  assert.deepEqual(lists.clockSteps, { total: 1, first: [step] });
  assert.deepEqual(lists.misnamedFiles, { total: 1, first: [{ file: "2026-01-07.jsonl", time: "2026-01-04T08:00:00.000Z" }] });
});

test("a long list keeps its first hundred items and counts the rest", async () => {
  const log = new LogBuilder().add(started(0));
  for (let call = 1; call <= 150; call++) log.add(decision(call, "ask"), stopped(), approval(1, "gone"));
  const { lists } = await readMemory(log.build());
  assert.equal(lists.unansweredAsks.total, 150);
  assert.equal(lists.unansweredAsks.first.length, 100);
  assert.equal(lists.strays.total, 150);
  assert.deepEqual(lists.strays.first.slice(0, 2), [4, 7]);
});

test("an accepted break is listed with what was given up, and what was open before it stays open", async () => {
  const log = new LogBuilder().add(started(0), decision(1, "ask"), decision(2, "allowed"));
  const [offset, good] = [log.offset, log.prev];
  log.raw("nonsense\n").add(result(3, 2));
  const [answer = ""] = linesOf(log.build(), log.file).slice(-1);
  const event = {
    kind: "accepted_break",
    file: log.file,
    line: 4,
    offset,
    expected: `a record with seq 4 and prev ${good}`,
    found: "not JSON",
    last_good: 3,
    last_good_sha256: good,
    lines: 2,
    sha256: hashOf(`${hashOf("nonsense")}\n${hashOf(answer)}\n`),
  };
  const { end, lists } = await readMemory(log.accept(event).build());
  assert.equal(end.kind, "whole");
  assert.deepEqual(lists.acceptedBreaks, { total: 1, first: [{ seq: 6, file: log.file, line: 4, lines: 2, lastGood: 3 }] });
  assert.deepEqual([lists.records, lists.unansweredAsks, lists.unfinishedCalls], [4, seqs(2), seqs(3)]);
});

const events = fc.oneof(
  fc.record({ kind: fc.constant("decision"), outcome: fc.constantFrom("allowed", "ask", "denied") }),
  fc.record({ kind: fc.constant("approval"), of: fc.integer({ min: 1, max: 30 }), answer: fc.constantFrom("approved", "refused") }),
  fc.record({ kind: fc.constant("result"), of: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant("day") }),
  fc.record({ kind: fc.constant("clock"), hour: fc.integer({ min: 10, max: 23 }) }),
  fc.record({ kind: fc.constant("torn") }),
);
type Event = typeof events extends fc.Arbitrary<infer E> ? E : never;

function logOf(steps: readonly Event[]): LogFiles {
  const log = new LogBuilder().add(started(0));
  let day = 5;
  for (const step of steps) {
    if ("outcome" in step) log.add(decision(1, step.outcome));
    else if ("answer" in step) log.add(approval(step.of, step.answer));
    else if ("of" in step) log.add(result(step.of, 1));
    else if ("hour" in step) log.time = `2026-01-04T${step.hour}:00:00.000Z`;
    else if (step.kind === "day") log.day(`2026-01-${String(++day).padStart(2, "0")}`);
    else {
      const { offset } = log;
      log.raw("half\n").add(log.recovery(offset, "half"));
    }
  }
  return log.build();
}

test("what is counted file by file and joined is what is counted over the whole log", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(events, { maxLength: 40, size: "max" }), async (steps) => {
      const { end, records, places, lists } = await readMemory(logOf(steps));
      assert.equal(end.kind, "whole");
      const parts = new Map<string, AuditTally>();
      for (const [index, record] of records.entries()) {
        const place = places[index];
        assert.ok(place !== undefined);
        const part = parts.get(place.file) ?? new AuditTally("part");
        parts.set(place.file, part);
        part.add(record, place);
      }
      const joined = new AuditTally();
      for (const part of parts.values()) {
        const counted = part.part();
        assert.ok(counted !== undefined);
        joined.join(structuredClone(counted));
      }
      assert.deepEqual(joined.lists(), lists);
    }),
  );
});

test("a part without a record has nothing to join, and says how much waits for an earlier one", () => {
  const part = new AuditTally("part");
  assert.deepEqual([part.part(), part.looseEnds], [undefined, 0]);
});
