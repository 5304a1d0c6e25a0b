/** What the chain says of each damage: the phrases an owner reads, and what has to happen before a break can be accepted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditChain, DayFileName, readRecordLine, ZERO_HASH } from "@boxmaker/proto";
import { DAMAGED_LOGS } from "./damaged-logs.ts";
import { LogBuilder, type LogFiles, splitLines, started, stopped } from "./log-builder.ts";
import { readMemory } from "./read-memory.ts";

function withoutNumbers(text: string): string {
  return text.replaceAll(/[0-9a-f]{64}/gu, "HASH").replaceAll(/\d+/gu, "N");
}

/** The bytes of the newest file that has any. */
function lastBytes(files: LogFiles): Buffer {
  const filled = [...files].filter(([, bytes]) => bytes.length > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  return filled.at(-1)?.[1] ?? Buffer.alloc(0);
}

test("a break's expectation is one of these phrases", async () => {
  const phrases = new Set<string>();
  for (const { files } of DAMAGED_LOGS) {
    const { end } = await readMemory(files);
    if (end.kind === "broken") phrases.add(withoutNumbers(end.at.expected));
  }
  assert.deepEqual([...phrases].sort(), [
    "a break before its acceptance",
    "a newline",
    "a newline at the end of the line",
    "a record with seq N and prev HASH",
    "a time on N-N-N or before",
    "a torn line before a recovery",
    "prev HASH",
    "seq N",
    'the recovery of N bytes at offset N of "N-N-N.jsonl" with shaN HASH, a record with seq N and prev HASH',
  ]);
});

test("a broken log's last line has to be ended first exactly where it isn't", async () => {
  let unended = 0;
  for (const { name, files } of DAMAGED_LOGS) {
    const { end } = await readMemory(files);
    if (end.kind !== "broken") continue;
    const isUnended = lastBytes(files).at(-1) !== "\n".charCodeAt(0);
    assert.equal(end.acceptance?.unended !== undefined, isUnended, name);
    assert.equal(end.acceptance?.unended?.ended ?? false, false, name);
    if (isUnended) unended++;
  }
  assert.ok(unended >= 2);
});

test("torn lines are told with their places, the last of them alone without a newline", async () => {
  let torn = 0;
  for (const { name, files } of DAMAGED_LOGS) {
    const { end } = await readMemory(files);
    if (end.kind !== "torn") continue;
    torn++;
    for (const [index, line] of end.lines.entries()) {
      assert.ok(line.bytes > 0, name);
      if (index > 0) assert.equal(line.line, (end.lines[index - 1]?.line ?? 0) + 1, name);
      if (index < end.lines.length - 1) assert.ok(line.ended, name);
    }
  }
  assert.ok(torn > 10);
});

test("whatever reads as a record in a broken log is either certain or doubtful, each line once", async () => {
  let broken = 0;
  for (const { name, files } of DAMAGED_LOGS) {
    const { end, records, doubtful } = await readMemory(files);
    if (end.kind !== "broken" || name.includes("torn") || name.includes("recovery")) continue;
    broken++;
    const lines = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, bytes]) => splitLines(bytes));
    const readable = lines.filter((line) => readRecordLine(Buffer.from(line)).kind === "ok");
    assert.equal(records.length + doubtful.length, readable.length, name);
  }
  assert.ok(broken > 10);
});

test("a record is doubtful from the very line that breaks on, and what is none isn't", async () => {
  const log = new LogBuilder().add(started(0));
  log
    .raw(`${log.line(stopped(), { seq: 9 })}\n`)
    .raw("nonsense\n")
    .add(stopped());
  const { records, doubtful } = await readMemory(log.build());
  assert.deepEqual([records.map(({ seq }) => Number(seq)), doubtful.map(({ seq }) => Number(seq))], [[1], [9, 2]]);
});

test("a chain wants its files in the order of their days, and a file before any line", () => {
  const chain = new AuditChain(() => undefined);
  const line = { bytes: 1, sha256: ZERO_HASH, ended: true, content: Buffer.from("x") };
  assert.throws(() => chain.feed(line), new RangeError("expected beginFile before the first line"));
  chain.beginFile(DayFileName.parse("2026-01-06.jsonl"));
  for (const day of ["2026-01-06.jsonl", "2026-01-05.jsonl"]) {
    assert.throws(() => chain.beginFile(DayFileName.parse(day)), new RangeError("expected the log's files in order of their days"));
  }
});
