/** What a break's acceptance does to a log, whatever happened to it before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AcceptedBreak, AuditSeq, type ChainEnd, encodeRecordLine, Timestamp } from "@boxmaker/proto";
import fc from "fast-check";
import { decision, LogBuilder, type LogFiles, result, sessionOpened, splitLines, started, stopped } from "./log-builder.ts";
import { damaged } from "./random-damage.ts";
import { readMemory } from "./read-memory.ts";

const NEWEST = "2026-01-09.jsonl";
const TIME = Timestamp.parse("2026-01-09T00:00:00.000Z");

function append(files: LogFiles, name: string, bytes: string): LogFiles {
  return new Map([...files, [name, Buffer.concat([files.get(name) ?? Buffer.alloc(0), Buffer.from(bytes)])]]);
}

/** The line that accepts the break which `end` found. */
function acceptanceLine(end: ChainEnd): string {
  assert(end.kind === "broken" && end.acceptance !== undefined);
  const { event, head } = end.acceptance;
  return encodeRecordLine({ seq: AuditSeq.parse(head.seq + 1), time: TIME, prev: head.sha256, event }).line;
}

/** Does what brokerd does with a broken log: ends its last line, and goes on behind the break where there still is one. */
async function accept(files: LogFiles): Promise<LogFiles> {
  let accepted = files;
  let { end } = await readMemory(accepted);
  assert(end.kind === "broken");
  if (end.acceptance?.unended !== undefined) {
    accepted = append(files, end.acceptance.unended.file, "\n");
    ({ end } = await readMemory(accepted));
  }
  return end.kind === "broken" ? append(accepted, NEWEST, `${acceptanceLine(end)}\n`) : accepted;
}

test("whatever happened to a log, one acceptance makes it whole, and is itself its last record", async () => {
  let broken = 0;
  await fc.assert(
    fc.asyncProperty(damaged, async (files) => {
      const before = await readMemory(files);
      if (before.end.kind !== "broken") return;
      broken++;
      const accepted = await accept(files);
      const { end, records, lists } = await readMemory(accepted, 97);
      assert.equal(end.kind, "whole");
      assert.deepEqual(records.slice(0, before.records.length), before.records);
      if (accepted.has(NEWEST)) {
        assert.equal(lists.acceptedBreaks.total, before.lists.acceptedBreaks.total + 1);
        assert.equal(records.at(-1)?.event.kind, "accepted_break");
        const lines = [...accepted].flatMap(([, bytes]) => splitLines(bytes)).length;
        assert(end.kind === "whole");
        assert.equal(end.head.seq, lines);
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(broken > 100, `${broken} logs were broken`);
});

test("behind an acceptance every byte of what was given up is pinned, and so is the acceptance", async () => {
  await fc.assert(
    fc.asyncProperty(damaged, fc.nat(), fc.integer({ min: 1, max: 255 }), async (files, where, flip) => {
      if ((await readMemory(files)).end.kind !== "broken") return;
      const log = await accept(files);
      const last = [...log.keys()].sort().at(-1) ?? "";
      const tail = new LogBuilder();
      const { end } = await readMemory(log);
      assert(end.kind === "whole");
      tail.seq = end.head.seq;
      tail.prev = end.head.sha256;
      tail.time = "2026-01-01T00:00:00.000Z";
      const whole = append(log, last, `${tail.line(stopped())}\n`);
      assert.equal((await readMemory(whole)).end.kind, "whole");
      const names = [...whole.keys()].filter((name) => (whole.get(name)?.length ?? 0) > 0).sort();
      const name = names[where % names.length] ?? "";
      const bytes = Buffer.from(whole.get(name) ?? "");
      // The very last line is pinned by nothing yet.
      const reach = name === last ? bytes.length - Buffer.byteLength(tail.line(stopped())) - 1 : bytes.length;
      if (reach === 0) return;
      bytes.writeUInt8(bytes.readUInt8(where % reach) ^ flip, where % reach);
      assert.equal((await readMemory(new Map([...whole, [name, bytes]]))).end.kind, "broken");
    }),
    { numRuns: 300 },
  );
});

test("what a break says of a hostile line is bounded, so that it can always be accepted", async () => {
  const log = new LogBuilder().add(started(0));
  const hostile = { kind: "recovery", file: "\u{1f5d2}\u202e".repeat(200_000), offset: 1, bytes: 1, sha256: "0".repeat(64) };
  log.raw(`${log.line(hostile)}\n`).add(stopped());
  const { end } = await readMemory(log.build());
  assert(end.kind === "broken");
  assert.ok(end.at.found.length <= 501);
  assert.ok(end.at.found.isWellFormed());
  assert.equal((await readMemory(await accept(log.build()))).end.kind, "whole");
});

test("behind a break nothing is taken for a record, but what reads as one is told apart", async () => {
  const log = new LogBuilder().add(started(0)).raw("nonsense\n").add(sessionOpened("s-1"), decision(1, "allowed"), result(3, 1));
  const { records, doubtful } = await readMemory(await accept(log.build()));
  assert.deepEqual(
    records.map(({ event }) => event.kind),
    ["started", "accepted_break"],
  );
  assert.deepEqual(
    doubtful.map(({ seq, event }) => [seq, event.kind]),
    [
      [2, "session_opened"],
      [3, "decision"],
      [4, "result"],
    ],
  );
});

test("an acceptance is written with every field, and no others", async () => {
  const log = new LogBuilder().add(started(0)).raw("nonsense\n");
  const { end } = await readMemory(log.add(stopped()).build());
  assert(end.kind === "broken");
  assert.deepEqual(Object.keys(end.acceptance?.event ?? {}), [
    "kind",
    "file",
    "line",
    "offset",
    "expected",
    "found",
    "last_good",
    "last_good_sha256",
    "lines",
    "sha256",
  ]);
  const event = { ...end.acceptance?.event };
  assert.equal(AcceptedBreak.safeParse({ ...event, more: 1 }).success, false);
  for (const key of Object.keys(event)) {
    assert.equal(AcceptedBreak.safeParse({ ...event, [key]: undefined }).success, false, key);
  }
});
