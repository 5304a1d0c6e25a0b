/** The same faults while a break is being accepted: the break stays, or its acceptance is whole. */
import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { openAuditLog } from "../../src/audit/audit-log.ts";
import { DAY, FakeClock, NO_BLOBS, openLog, startedEvent, TempDirectory } from "./audit-fixture.ts";
import { COUNT, checkAnswers, judge, runTraced, skipTraced } from "./traced-run.ts";

const MAX_RUNS = 60;

/** Three records, a line of nonsense among them, and half a line at the end. */
async function prepare(home: TempDirectory): Promise<string> {
  {
    await using opened = await openLog(home.audit);
    for (let head = 0; head < 3; head++) await opened.log.append(startedEvent(head), NO_BLOBS).durable;
  }
  const [first = "", ...rest] = home.text(DAY).split("\n");
  writeFileSync(home.file(DAY), [first, "nonsense", ...rest].join("\n"));
  appendFileSync(home.file(DAY), '{"seq":4,"ti');
  return home.text(DAY);
}

async function acceptAgain(home: TempDirectory): Promise<void> {
  const ignore = (): void => {};
  const opening = await openAuditLog({
    directory: home.audit,
    clock: new FakeClock(),
    acceptBreak: true,
    onRecord: ignore,
    onRestart: ignore,
    warn: ignore,
  });
  assert.equal(opening.kind, "open");
  if (opening.kind === "open") await opening.log[Symbol.asyncDispose]();
}

async function checkLog(home: TempDirectory, before: string, durable: readonly number[]): Promise<void> {
  const judgement = await judge(home);
  if (judgement.kind === "broken") {
    assert.deepEqual([judgement.at.line, durable], [2, []], "nothing is acknowledged behind a break that isn't accepted");
    await acceptAgain(home);
  }
  assert.ok(home.text(DAY).startsWith(before));
  {
    await using opened = await openLog(home.audit);
    const kinds = opened.records.map(({ event }) => event.kind);
    assert.equal(kinds.filter((kind) => kind === "accepted_break").length, 1);
    for (const seq of durable) assert.ok(opened.records.some((record) => record.seq === seq));
  }
  await using again = await openLog(home.audit);
  assert.deepEqual(again.notices, []);
}

for (const [calls, fault] of [
  ["write", "error=ENOSPC"],
  ["write", "signal=KILL"],
  ["fdatasync", "error=EIO"],
  ["fdatasync", "signal=KILL"],
  ["fsync", "signal=KILL"],
  ["openat", "error=EIO"],
] as const) {
  test(`${calls} with ${fault} at any point of an acceptance leaves the break or its acceptance`, {
    skip: skipTraced,
  }, async () => {
    let runs = 0;
    for (; runs < MAX_RUNS; runs++) {
      using home = new TempDirectory();
      const before = await prepare(home);
      const run = runTraced(home, calls, `${fault}:when=${runs + 1}`, "accept");
      await checkLog(home, before, checkAnswers(run));
      if (!run.isHit) {
        assert.equal(run.lines.filter((line) => line.startsWith("durable")).length, COUNT);
        break;
      }
    }
    assert.ok(runs >= 2 && runs < MAX_RUNS, `${runs} points were hit`);
  });
}
