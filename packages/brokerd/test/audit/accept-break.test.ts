/** Opening a broken log so that it goes on, step by step. */
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { sha256, ZERO_HASH } from "@boxmaker/proto";
import { type LogMark, openAuditLog } from "../../src/audit/audit-log.ts";
import { DAY, FakeClock, NO_BLOBS, openLog, refusedLog, sessionEvent, startedEvent, TempDirectory } from "./audit-fixture.ts";

type Told = readonly ["record" | "doubtful", number] | "restart";

interface Accepted {
  readonly told: readonly Told[];
  readonly notices: readonly string[];
  readonly head: number;
}

async function accept(home: TempDirectory, time = "2026-01-05T09:00:00.000Z"): Promise<Accepted> {
  const told: Told[] = [];
  const clock = new FakeClock();
  clock.text = time;
  const opening = await openAuditLog({
    directory: home.audit,
    clock,
    acceptBreak: true,
    onRecord: ({ seq }) => told.push(["record", seq]),
    onDoubtful: ({ seq }) => told.push(["doubtful", seq]),
    onRestart: () => told.push("restart"),
    warn: () => {},
  });
  if (opening.kind === "refused") throw new Error(opening.problem);
  const { head } = opening.log;
  await opening.log[Symbol.asyncDispose]();
  return { told, notices: opening.notices, head };
}

/** Four records, of which the third has been changed since, so that the fourth doesn't follow. */
async function writeBroken(home: TempDirectory): Promise<void> {
  {
    await using opened = await openLog(home.audit);
    for (const event of [startedEvent(0), sessionEvent("s-1"), startedEvent(2), sessionEvent("s-2")]) {
      await opened.log.append(event, NO_BLOBS).durable;
    }
  }
  writeFileSync(home.file(DAY), home.text(DAY).replace(/"version":"0\.1\.0"(?<rest>[^\n]+"head":2)/u, '"version":"9.1.0"$1'));
}

const ACCEPTED = /^audit log: the break is accepted and recorded in seq \d+: "2026-01-05\.jsonl" line 4 .+#audit-break-accepted$/mu;

test("accepting hands over the records before the break, the doubtful ones, and the acceptance", async () => {
  using home = new TempDirectory();
  await writeBroken(home);
  const { told, notices, head } = await accept(home);
  assert.deepEqual(told, [
    ["record", 1],
    ["record", 2],
    ["record", 3],
    ["doubtful", 4],
    ["record", 5],
  ]);
  assert.equal(head, 5);
  assert.match(notices.join("\n"), ACCEPTED);
  await using again = await openLog(home.audit);
  assert.deepEqual([again.notices, again.records.map(({ seq }) => seq)], [[], [1, 2, 3, 5]]);
});

test("a last line without a newline gets one first, and the log is read again with it", async () => {
  using home = new TempDirectory();
  await writeBroken(home);
  appendFileSync(home.file(DAY), "half a line");
  const { told, notices, head } = await accept(home, "2026-01-06T00:00:00.000Z");
  assert.deepEqual(told, [
    ["record", 1],
    ["record", 2],
    ["record", 3],
    ["doubtful", 4],
    "restart",
    ["record", 1],
    ["record", 2],
    ["record", 3],
    ["doubtful", 4],
    ["record", 6],
  ]);
  assert.equal(head, 6);
  assert.match(notices.join("\n"), /had no newline, and got one\n/u);
  assert.match(notices.join("\n"), ACCEPTED);
  assert.ok(home.text(DAY).endsWith("half a line\n"));
  assert.match(home.text("2026-01-06.jsonl"), /^\{"seq":6,.+"kind":"accepted_break",.+"lines":2,/u);
  await using again = await openLog(home.audit);
  assert.deepEqual(again.notices, []);
});

test("an acceptance that was cut off at any byte is made good the next time", async () => {
  using home = new TempDirectory();
  await writeBroken(home);
  const broken = Buffer.byteLength(home.text(DAY));
  await accept(home);
  const bytes = Buffer.from(home.text(DAY));
  for (let cut = broken; cut < bytes.length; cut += cut > bytes.length - 4 ? 1 : 23) {
    writeFileSync(home.file(DAY), bytes.subarray(0, cut));
    assert.match(await refusedLog(home.audit), /"2026-01-05\.jsonl" line 4 .+#audit-broken$/u);
    const { head } = await accept(home);
    // Whole but for its newline it counts as soon as it has that.
    assert.equal(head, cut === broken || cut === bytes.length - 1 ? 5 : 6, `cut at ${cut}`);
    await using again = await openLog(home.audit);
    assert.deepEqual(again.notices, []);
  }
});

test("what a saved state was taken at doesn't matter to an acceptance: the whole log is read", async () => {
  using home = new TempDirectory();
  await writeBroken(home);
  const told: Told[] = [];
  const opening = await openAuditLog({
    directory: home.audit,
    clock: new FakeClock(),
    acceptBreak: true,
    from: { seq: 0, head: ZERO_HASH },
    onRecord: ({ seq }) => told.push(["record", seq]),
    onRestart: () => told.push("restart"),
    warn: () => {},
  });
  assert(opening.kind === "open");
  await opening.log[Symbol.asyncDispose]();
  assert.deepEqual(told, ["restart", ["record", 1], ["record", 2], ["record", 3], ["record", 5]]);
});

test("from a mark behind an accepted break only what is behind the mark is handed over, and before it all of it", async () => {
  using home = new TempDirectory();
  const marks: LogMark[] = [];
  await writeBroken(home);
  await accept(home);
  {
    await using opened = await openLog(home.audit);
    marks.push(opened.log.mark);
    await opened.log.append(sessionEvent("s-3"), NO_BLOBS).durable;
  }
  const [behind] = marks;
  const before: LogMark = { seq: 2, head: sha256(home.text(DAY).split("\n")[1] ?? "") };
  const told: Told[] = [];
  for (const from of [behind, before]) {
    const opening = await openAuditLog({
      directory: home.audit,
      clock: new FakeClock(),
      from,
      onRecord: ({ seq }) => told.push(["record", seq]),
      onDoubtful: ({ seq }) => told.push(["doubtful", seq]),
      onRestart: () => told.push("restart"),
      warn: () => {},
    });
    assert(opening.kind === "open");
    await opening.log[Symbol.asyncDispose]();
  }
  assert.deepEqual(told, [
    ["record", 6],
    ["record", 3],
    ["doubtful", 4],
    ["record", 5],
    ["record", 6],
  ]);
});

test("without a break nothing is accepted, written or made", async () => {
  using home = new TempDirectory();
  const problem = "the audit log isn't broken, start without --accept-break; see docs/runbook.md#audit-break-accepted";
  const options = { acceptBreak: true, onRestart: () => {} };
  assert.equal(await refusedLog(home.audit, options), problem);
  assert.equal(existsSync(home.audit), false);
  {
    await using opened = await openLog(home.audit);
    await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  }
  appendFileSync(home.file(DAY), "half");
  const before = [readdirSync(home.audit), home.text(DAY)];
  assert.equal(await refusedLog(home.audit, options), problem);
  assert.deepEqual([readdirSync(home.audit), home.text(DAY)], before);
});
