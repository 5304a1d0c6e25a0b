/** A stretch of a log is judged by itself: wherever a whole log is cut, its stretches are whole and follow each other. */
import assert from "node:assert/strict";
import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { DayFileName, type LogFile, readTalliedLine, sha256 } from "@boxmaker/proto";
import { type StretchReading, verifyStretch } from "../../src/audit/verify-stretch.ts";
import { AuditFolder, came, decided, opened, STARTED } from "../support/audit-folder.ts";

const NAME = DayFileName.parse("2026-01-05.jsonl");
const EVERYTHING = Number.POSITIVE_INFINITY;

function oneDay(): AuditFolder {
  return new AuditFolder().add(STARTED, opened("s"), decided("s", 1, "allowed"), came(3, "s", 1), decided("s", 2, "denied"));
}

function fileOf(log: AuditFolder): LogFile {
  return { name: NAME, bytes: statSync(log.file).size };
}

async function read(log: AuditFolder, start: number, end: number, treeSize = 0): Promise<StretchReading> {
  return await verifyStretch(
    { file: fileOf(log), start, end },
    { directory: log.path, read: readTalliedLine, treeSize, buffer: Buffer.allocUnsafe(64) },
  );
}

/** The seqs of a stretch, as it says them. */
function seqsOf(reading: StretchReading): readonly number[] {
  if (reading.kind !== "whole") return [];
  return Array.from({ length: reading.head.seq - reading.after.seq }, (_, index) => reading.after.seq + 1 + index);
}

test("wherever a whole log is cut in two, each line is in the stretch that it begins in", async () => {
  using log = oneDay();
  const { bytes } = fileOf(log);
  const lines = readFileSync(log.file, "utf8").split("\n").slice(0, -1);
  const starts = lines.map((_, index) => lines.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0));
  for (let cut = 0; cut <= bytes; cut += 1) {
    // Near the ends of lines, and a few between.
    if (cut % 97 !== 0 && !starts.some((start) => Math.abs(start - cut) < 3) && bytes - cut > 2) continue;
    const [before, behind] = [await read(log, 0, cut), await read(log, cut, bytes)];
    assert.notEqual(before.kind, "other", String(cut));
    assert.notEqual(behind.kind, "other", String(cut));
    const first = starts.filter((start) => start < cut).length;
    assert.deepEqual(
      [seqsOf(before), seqsOf(behind)],
      [[1, 2, 3, 4, 5].slice(0, first), [1, 2, 3, 4, 5].slice(first)],
      String(cut),
    );
    if (before.kind !== "whole" || behind.kind !== "whole") continue;
    assert.equal(behind.after.sha256, sha256(lines[first - 1] ?? ""));
    assert.equal(before.head.sha256, behind.after.sha256);
  }
});

test("a stretch has as many leaves as the tree is asked to have", async () => {
  using log = oneDay();
  const { bytes } = fileOf(log);
  for (const [treeSize, levels] of [
    [0, []],
    [1, [0]],
    [3, [1, 0]],
    [5, [2, 0]],
    [EVERYTHING, [2, 0]],
  ] as const) {
    const reading = await read(log, 0, bytes, treeSize);
    assert.ok(reading.kind === "whole");
    assert.deepEqual(
      reading.tree.subtrees.map(({ level }) => level),
      levels,
    );
  }
});

test("a stretch that isn't a whole chain of records is something else", async () => {
  const damages: Readonly<Record<string, (log: AuditFolder) => void>> = {
    "a line without its newline": ({ file }) => writeFileSync(file, readFileSync(file, "utf8").slice(0, -1)),
    "half a line at the end": ({ file }) => appendFileSync(file, '{"seq":6,'),
    "another byte in the first line": ({ file }) => writeFileSync(file, readFileSync(file, "utf8").replace("0.1.0", "0.1.1")),
    "another byte in a later line": ({ file }) => writeFileSync(file, readFileSync(file, "utf8").replace('"call":1', '"call":2')),
    "a first line that is no record": ({ file }) => writeFileSync(file, `x${readFileSync(file, "utf8")}`),
    "an empty line": ({ file }) => appendFileSync(file, "\n"),
    "a line of too many bytes": ({ file }) => appendFileSync(file, `${"x".repeat(5_000_000)}\n`),
    "a record of a later day": (log) => {
      log.time = "2026-01-06T00:00:00.000Z";
      log.add(decided("s", 3, "denied"));
    },
  };
  for (const [name, damage] of Object.entries(damages)) {
    using log = oneDay();
    damage(log);
    assert.equal((await read(log, 0, fileOf(log).bytes)).kind, "other", name);
  }
});

test("a stretch that ends in more bytes than a record may have is something else", async () => {
  using log = oneDay();
  const { bytes } = fileOf(log);
  appendFileSync(log.file, `${"x".repeat(5_000_000)}\nx`);
  assert.deepEqual(await read(log, 0, bytes + 10), { kind: "other" });
  assert.deepEqual(await read(log, bytes + 10, bytes + 20), { kind: "other" });
  assert.equal((await read(log, 0, bytes)).kind, "whole");
});
