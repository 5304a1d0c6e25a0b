/** Stretches of a log that are verified side by side come to the judgement of one pass over the whole log. */
import assert from "node:assert/strict";
import { appendFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readAuditEntries } from "@boxmaker/edge/audit-files";
import { listLog, ZERO_HASH } from "@boxmaker/proto";
import { type Checkpoint, hashLeaf, LogTrees } from "@boxmaker/proto/transparency";
import { type VerifiedFiles, verifyFiles } from "../../src/audit/verify-files.ts";
import { AuditFolder, answered, decided, hashOf, opened, STARTED } from "../support/audit-folder.ts";

const DAYS = ["2026-01-05.jsonl", "2026-01-06.jsonl", "2026-01-07.jsonl"] as const;

/** Three days, with asks and calls that are answered on a later one, or never. */
function threeDays(): AuditFolder {
  const log = new AuditFolder();
  log.add(STARTED, opened("s"), decided("s", 1, "ask"), decided("s", 2, "ask")).day("2026-01-06");
  log.add(answered(3, "approved"), decided("s", 3, "allowed"), answered(90, "refused")).day("2026-01-07");
  log.add(answered(4, "refused"), decided("s", 4, "ask"), decided("s", 5, "denied"));
  return log;
}

/** Longer than a file, and shorter than most lines. */
const STRETCHES = [1_000_000, 300] as const;

async function verify(path: string, stretchBytes: number, threads: number, expected?: Checkpoint): Promise<VerifiedFiles> {
  const listing = listLog(await readAuditEntries(path));
  assert.ok(listing.kind === "log");
  return await verifyFiles(path, listing.files, { threads, minParallelBytes: 0, stretchBytes, expected });
}

/** What a checkpoint over the first `size` records would say. */
function checkpointOf(path: string, size: number): Checkpoint {
  const lines = DAYS.flatMap((day) => readFileSync(join(path, day), "utf8").trimEnd().split("\n"));
  const trees = new LogTrees();
  for (const [index, line] of lines.slice(0, size).entries()) {
    trees.add({ seq: index + 1, event: { kind: "stopped" } }, hashLeaf(Buffer.from(line)));
  }
  return { origin: trees.tree?.origin ?? "", size, root: trees.root(), extensions: [] };
}

const CASES: Readonly<Record<string, (path: string) => void>> = {
  "a whole log": () => undefined,
  "a log with an empty newest file": (path) => writeFileSync(join(path, "2026-01-08.jsonl"), ""),
  "a log with a torn tail": (path) => appendFileSync(join(path, DAYS[2]), '{"seq":'),
  "a changed byte in the middle of a file": (path) => {
    const file = join(path, DAYS[1]);
    writeFileSync(file, readFileSync(file, "utf8").replace('"call":3', '"call":4'));
  },
  "a changed byte in the last line of a file": (path) => {
    const file = join(path, DAYS[0]);
    writeFileSync(file, readFileSync(file, "utf8").replace('"call":2', '"call":4'));
  },
  "a missing day": (path) => rmSync(join(path, DAYS[1])),
  "a missing first day": (path) => rmSync(join(path, DAYS[0])),
  "swapped days": (path) => {
    renameSync(join(path, DAYS[1]), join(path, "x"));
    renameSync(join(path, DAYS[2]), join(path, DAYS[1]));
    renameSync(join(path, "x"), join(path, DAYS[2]));
  },
  "a first line that is no record": (path) => {
    const file = join(path, DAYS[2]);
    writeFileSync(file, `x${readFileSync(file, "utf8")}`);
  },
};

/** Compares the two, for stretches of any length, and returns what they come to. */
async function compare(log: AuditFolder): Promise<VerifiedFiles> {
  let workers = 0;
  const count = (): void => void workers++;
  process.on("worker", count);
  const inTurn = await verify(log.path, 1, 1);
  assert.equal(workers, 0);
  try {
    for (const stretchBytes of STRETCHES) assert.deepEqual(await verify(log.path, stretchBytes, 2), inTurn, String(stretchBytes));
  } finally {
    process.off("worker", count);
  }
  // One thread is the test's own.
  assert.ok(workers >= 2, `${workers} threads`);
  return inTurn;
}

for (const [name, damage] of Object.entries(CASES)) {
  test(`side by side and in turn come to the same for ${name}`, async () => {
    using log = threeDays();
    damage(log.path);
    await compare(log);
  });
}

test("side by side and in turn come to the same where a clock was set back over midnight", async () => {
  using log = threeDays();
  log.time = "2026-01-06T23:59:59.999Z";
  log
    .add(decided("s", 6, "denied"), decided("s", 7, "denied"))
    .day("2026-01-08")
    .add(decided("s", 8, "denied"));
  const { end, lists } = await compare(log);
  assert.equal(end.kind, "whole");
  assert.deepEqual([lists.clockSteps.total, lists.misnamedFiles.total], [1, 1]);
});

test("side by side and in turn come to the same where a torn line was recovered, within a stretch and over its end", async () => {
  using log = threeDays();
  const torn = '{"seq":11,"time":"2026-';
  const place = { offset: statSync(log.file).size, bytes: torn.length, sha256: hashOf(torn) };
  appendFileSync(log.file, `${torn}\n`);
  log
    .add({ kind: "recovery", file: DAYS[2], ...place })
    .day("2026-01-08")
    .add(STARTED);
  const { end, lists } = await compare(log);
  assert.deepEqual([end.kind, lists.recoveries.total, lists.records], ["whole", 1, 12]);
});

test("side by side and in turn find the same where a log is held to a checkpoint", async () => {
  using log = threeDays();
  const whole = checkpointOf(log.path, 10);
  for (const size of [1, 4, 5, 10]) {
    const expected = checkpointOf(log.path, size);
    const side = await verify(log.path, 1500, 3, expected);
    assert.deepEqual(side, await verify(log.path, 1500, 1, expected));
    assert.deepEqual([side.end.kind, side.difference], ["whole", undefined], String(size));
  }
  const others = [
    { ...whole, size: 11 },
    { ...whole, size: 9 },
    { ...whole, root: ZERO_HASH },
    { ...whole, origin: "another" },
  ];
  for (const expected of others) {
    const side = await verify(log.path, 1500, 3, expected);
    assert.deepEqual(side, await verify(log.path, 1500, 1, expected));
    assert.deepEqual([side.end.kind, typeof side.difference], ["whole", "string"]);
  }
});

test("a file that can't be read is an error, also side by side", async () => {
  using log = threeDays();
  const listing = listLog(await readAuditEntries(log.path));
  assert.ok(listing.kind === "log");
  rmSync(join(log.path, DAYS[1]));
  await assert.rejects(verifyFiles(log.path, listing.files, { threads: 2, minParallelBytes: 0 }), { code: "ENOENT" });
});
