/**
 * System calls that fail, and a process that dies at them: at every write, sync, open and rename of a start that recovers a torn
 * line and of the appends after it. What was acknowledged has to be there afterwards, and the log has to be whole.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { sha256 } from "@boxmaker/proto";
import { DAY, NO_BLOBS, openLog, startedEvent, TempDirectory } from "./audit-fixture.ts";
import { blobText } from "./blob-text.ts";
import { COUNT, checkAnswers, judge, runTraced, skipTraced, WRITER_PROGRAM } from "./traced-run.ts";

const MAX_RUNS = 60;
const DEADLINE_MS = 60_000;

/** Three records and a torn line. */
async function prepare(home: TempDirectory): Promise<void> {
  await using opened = await openLog(home.audit);
  for (let head = 0; head < 3; head++) await opened.log.append(startedEvent(head), NO_BLOBS).durable;
  writeFileSync(home.file(DAY), `${home.text(DAY)}{"seq":4,"ti`);
}

/** The log opens, holds what was acknowledged, has one recovery, and opens quietly the next time. */
async function checkLog(home: TempDirectory, durable: readonly number[], hasBlobs = true): Promise<void> {
  assert.notEqual((await judge(home)).kind, "broken");
  {
    await using opened = await openLog(home.audit);
    const seqs = opened.records.map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => index + 1),
    );
    for (const seq of durable)
      assert.ok(
        seqs.some((found) => found === seq),
        `record ${seq} was acknowledged and is lost`,
      );
    assert.equal(opened.records.filter(({ event }) => event.kind === "recovery").length, 1);
    for (const { event } of opened.records) {
      if (event.kind !== "started" || !event.version.startsWith("ü")) continue;
      const index = Number(event.version.slice(2));
      if (index % 3 === 0 && hasBlobs) assert.equal(home.text(`blobs/${sha256(blobText(index))}`), blobText(index));
    }
  }
  await using again = await openLog(home.audit);
  assert.deepEqual(again.notices, []);
}

const FAULTS: readonly (readonly [calls: string, fault: string])[] = [
  ["write", "error=ENOSPC"],
  ["write", "error=EIO"],
  ["write", "signal=KILL"],
  ["fdatasync", "error=EIO"],
  ["fdatasync", "error=ENOSPC"],
  ["fdatasync", "signal=KILL"],
  ["fsync", "error=EIO"],
  ["fsync", "signal=KILL"],
  ["openat", "error=EIO"],
  ["openat", "error=ENOSPC"],
  ["openat", "signal=KILL"],
  ["?rename,renameat,renameat2", "error=EIO"],
  ["?rename,renameat,renameat2", "error=ENOSPC"],
  ["?rename,renameat,renameat2", "signal=KILL"],
  ["?read,pread64", "error=EIO"],
  ["?mkdir,mkdirat", "error=ENOSPC"],
  ["?mkdir,mkdirat", "signal=KILL"],
];

for (const [calls, fault] of FAULTS) {
  test(`${calls} with ${fault} at any point loses nothing acknowledged and leaves a log that opens`, {
    skip: skipTraced,
  }, async () => {
    let runs = 0;
    for (; runs < MAX_RUNS; runs++) {
      using home = new TempDirectory();
      await prepare(home);
      const run = runTraced(home, calls, `${fault}:when=${runs + 1}`);
      await checkLog(home, checkAnswers(run));
      if (!run.isHit) {
        assert.equal(run.lines.at(-1), "done", `${runs} ${run.trace}`);
        assert.equal(run.lines.filter((line) => line.startsWith("durable")).length, COUNT);
        break;
      }
    }
    assert.ok(runs >= 1 && runs < MAX_RUNS, `${runs} points were hit`);
  });
}

for (const fault of ["error=EIO", "error=ENOSPC", "signal=KILL"]) {
  test(`a sync on the spot with ${fault} loses nothing acknowledged and leaves a log that opens`, {
    skip: skipTraced,
  }, async () => {
    // Counted for each thread: the first one is the opening's, and fails it.
    for (let when = 2; when <= COUNT - 2; when++) {
      using home = new TempDirectory();
      await prepare(home);
      const run = runTraced(home, "fdatasync", `${fault}:when=${when}`, "quick");
      const durable = checkAnswers(run);
      assert.ok(run.isHit);
      // The recovery is the first of them.
      assert.equal(durable.length, when - 2);
      await checkLog(home, durable, false);
    }
  });
}

test("appends that wait at the same time share one sync", { skip: skipTraced }, () => {
  using home = new TempDirectory();
  mkdirSync(home.audit, { mode: 0o700 });
  const { lines, trace } = runTraced(home, "fdatasync", undefined);
  assert.equal(lines.filter((line) => line.startsWith("durable")).length, COUNT);
  // The last three of the six are appended at once.
  assert.equal(trace.match(/fdatasync\(/gu)?.length, COUNT - 2);
});

const canLimit = spawnSync("prlimit", ["--fsize=1000", "true"]).status === 0;

test("a write that the system cuts short is finished or stops the log, at any limit of the file's size", {
  skip: canLimit ? false : "prlimit is missing",
}, async () => {
  for (let limit = 700; limit < 1500; limit += 97) {
    using home = new TempDirectory();
    await prepare(home);
    const program = [process.execPath, WRITER_PROGRAM, home.audit, "0", String(COUNT)];
    const run = spawnSync("prlimit", [`--fsize=${limit}`, ...program], { encoding: "utf8", timeout: DEADLINE_MS });
    const lines = run.stdout.split("\n").slice(0, -1);
    const durable = checkAnswers({ lines });
    await using opened = await openLog(home.audit);
    for (const seq of durable) assert.ok(opened.records.some((record) => record.seq === seq));
  }
});
