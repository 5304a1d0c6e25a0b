/** Opening at a mark: what is read, what is handed over, and what a mark that isn't there leads to. */
import assert from "node:assert/strict";
import { appendFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { sha256, ZERO_HASH } from "@boxmaker/proto";
import { type LogMark, openAuditLog } from "../../src/audit/audit-log.ts";
import { FakeClock, NO_BLOBS, openLog, refusedLog, startedEvent, TempDirectory } from "./audit-fixture.ts";

const DAYS = ["2026-01-05", "2026-01-06", "2026-01-07"] as const;
const PER_DAY = 3;

/** A log of three days and nine records; returns the mark of each, from 0 on. */
async function writeNine(home: TempDirectory): Promise<readonly LogMark[]> {
  const clock = new FakeClock();
  await using opened = await openLog(home.audit, clock);
  const marks = [opened.log.mark];
  for (const day of DAYS) {
    clock.text = `${day}T08:00:00.000Z`;
    for (let index = 0; index < PER_DAY; index++) {
      const { durable } = opened.log.append(startedEvent(opened.log.head, `${day} ${index} ü`), NO_BLOBS);
      marks.push(opened.log.mark);
      await durable;
    }
  }
  return marks;
}

interface Resumed {
  readonly head: number;
  /** What was handed over, in order: the seq of a record, or `restart`. */
  readonly told: readonly (number | "restart")[];
  readonly notices: readonly string[];
}

async function resume(home: TempDirectory, from: LogMark | undefined): Promise<Resumed> {
  const told: (number | "restart")[] = [];
  const clock = new FakeClock();
  clock.text = "2026-01-07T09:00:00.000Z";
  const opening = await openAuditLog({
    directory: home.audit,
    clock,
    onRecord: ({ seq }) => told.push(seq),
    from,
    onRestart: () => told.push("restart"),
    warn: () => {},
  });
  if (opening.kind === "refused") throw new Error(opening.problem);
  const { head } = opening.log;
  await opening.log[Symbol.asyncDispose]();
  return { head, told, notices: opening.notices };
}

function seqs(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function markAt(marks: readonly LogMark[], seq: number): LogMark {
  const mark = marks[seq];
  assert(mark !== undefined);
  return mark;
}

test("a mark names the last record by its seq and the hash of its line, zeros before the first", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  const lines = DAYS.flatMap((day) => home.text(`${day}.jsonl`).split("\n").slice(0, -1));
  assert.deepEqual(marks, [{ seq: 0, head: ZERO_HASH }, ...lines.map((line, index) => ({ seq: index + 1, head: sha256(line) }))]);
});

test("from any mark the records behind it are handed over, and no others", async () => {
  using home = new TempDirectory();
  for (const [seq, mark] of (await writeNine(home)).entries()) {
    assert.deepEqual(await resume(home, mark), { head: 9, told: seqs(seq + 1, 9), notices: [] });
  }
});

test("files before the one with the mark aren't read, apart from the last line before it", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  writeFileSync(home.file("2026-01-05.jsonl"), "damaged long ago\n");
  for (const seq of [6, 7, 8, 9]) {
    assert.deepEqual(await resume(home, markAt(marks, seq)), { head: 9, told: seqs(seq + 1, 9), notices: [] });
  }
  const text = home.text("2026-01-06.jsonl");
  writeFileSync(home.file("2026-01-06.jsonl"), `damaged\n${text.split("\n").slice(-2).join("\n")}`);
  assert.deepEqual(await resume(home, markAt(marks, 7)), { head: 9, told: [8, 9], notices: [] });
});

const ELSEWHERE = /^the state was saved at seq \d+ of another audit log, .+; see docs\/runbook\.md#audit-other-log$/u;

test("a mark that isn't in the log is told, and the whole log is handed over", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  const strangers: readonly LogMark[] = [
    { seq: 8, head: sha256("other") },
    { seq: 4, head: markAt(marks, 5).head },
    { seq: 10, head: sha256("not written") },
    { seq: 500, head: sha256("not written") },
    { seq: 0, head: sha256("not written") },
  ];
  for (const mark of strangers) {
    const { head, told, notices } = await resume(home, mark);
    assert.deepEqual([head, told], [9, ["restart", ...seqs(1, 9)]]);
    assert.match(notices.join("\n"), ELSEWHERE);
  }
});

test("a log whose tail was cut behind the mark starts from its first record, and says so", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  rmSync(home.file("2026-01-07.jsonl"));
  const { head, told, notices } = await resume(home, markAt(marks, 8));
  assert.deepEqual([head, told], [6, ["restart", ...seqs(1, 6)]]);
  assert.match(notices.join("\n"), ELSEWHERE);
  for (const name of readdirSync(home.audit).filter((file) => file.endsWith(".jsonl"))) truncateSync(home.file(name), 0);
  assert.deepEqual((await resume(home, markAt(marks, 8))).told, ["restart"]);
});

test("a break behind the mark is refused with its place in the whole log, and so is an earlier one then", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  const options = { from: markAt(marks, 7), onRestart: () => {} };
  const last = home.text("2026-01-07.jsonl");
  writeFileSync(home.file("2026-01-07.jsonl"), last.replace("2026-01-07 1", "2026-01-07 7"));
  assert.match(await refusedLog(home.audit, options), /broken: "2026-01-07\.jsonl" line 3 .+ seq 8; see/u);
  const first = home.text("2026-01-05.jsonl");
  writeFileSync(home.file("2026-01-05.jsonl"), first.replace("2026-01-05 1", "2026-01-05 7"));
  assert.match(await refusedLog(home.audit, options), /broken: "2026-01-05\.jsonl" line 3 .+ seq 2; see/u);
});

test("a torn tail behind the mark is recovered, and described by its line", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  appendFileSync(home.file("2026-01-07.jsonl"), '{"seq":10,');
  const { head, told, notices } = await resume(home, markAt(marks, 8));
  assert.deepEqual([head, told], [10, [9, 10]]);
  assert.match(notices.join("\n"), /"2026-01-07\.jsonl" line 4 was cut off/u);
  assert.deepEqual(await resume(home, markAt(marks, 8)), { head: 10, told: [9, 10], notices: [] });
});

test("a whole line before the file with the mark that was recovered as torn isn't taken for a record", async () => {
  using home = new TempDirectory();
  await writeNine(home);
  // The last record of the second day loses its newline, and the third day is yet to come.
  const second = home.text("2026-01-06.jsonl");
  writeFileSync(home.file("2026-01-06.jsonl"), second.slice(0, -1));
  rmSync(home.file("2026-01-07.jsonl"));
  const { head, told } = await resume(home, undefined);
  assert.deepEqual([head, told], [6, seqs(1, 6)]);
  assert.match(home.text("2026-01-07.jsonl"), /"kind":"recovery","file":"2026-01-06\.jsonl"/u);
  const mark = { seq: 6, head: sha256(home.text("2026-01-07.jsonl").slice(0, -1)) };
  assert.deepEqual(await resume(home, mark), { head: 6, told: [], notices: [] });
  const torn = { seq: 6, head: sha256(second.split("\n").at(-2) ?? "") };
  assert.deepEqual((await resume(home, torn)).told, ["restart", ...seqs(1, 6)]);
});

test("where the line to begin at tells too little, the whole log is read, quietly", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  rmSync(home.file("2026-01-07.jsonl"));
  appendFileSync(home.file("2026-01-06.jsonl"), "half");
  const clock = new FakeClock();
  clock.text = "2026-01-06T09:00:00.000Z";
  let mark: LogMark;
  {
    await using opened = await openLog(home.audit, clock);
    clock.text = "2026-01-07T09:00:00.000Z";
    await opened.log.append(startedEvent(7), NO_BLOBS).durable;
    mark = opened.log.mark;
  }
  // The second day ends with the recovery now, which only its torn line explains.
  assert.deepEqual(await resume(home, mark), { head: 8, told: ["restart", ...seqs(1, 8)], notices: [] });
  assert.deepEqual(await resume(home, markAt(marks, 5)), { head: 8, told: [6, 7, 8], notices: [] });
});

test("an empty newest file, and empty ones between, don't matter to where reading begins", async () => {
  using home = new TempDirectory();
  const marks = await writeNine(home);
  writeFileSync(home.file("2026-01-08.jsonl"), "");
  assert.deepEqual(await resume(home, markAt(marks, 9)), { head: 9, told: [], notices: [] });
  assert.deepEqual(await resume(home, markAt(marks, 5)), { head: 9, told: seqs(6, 9), notices: [] });
});

test("a mark or an acceptance without a way to begin again is a mistake of the caller", async () => {
  using home = new TempDirectory();
  const options = { directory: home.audit, clock: new FakeClock(), onRecord: () => {}, warn: () => {} };
  await assert.rejects(openAuditLog({ ...options, from: { seq: 0, head: ZERO_HASH } }), RangeError);
  await assert.rejects(openAuditLog({ ...options, acceptBreak: true }), RangeError);
});
