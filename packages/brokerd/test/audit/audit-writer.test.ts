import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { test } from "node:test";
import { ApprovalId, sha256 } from "@boxmaker/proto";
import { AuditStoppedError } from "../../src/audit/audit-stopped-error.ts";
import { approvalEvent } from "../../src/ledger/approval-event.ts";
import { DAY, FakeClock, NO_BLOBS, openLog, sessionEvent, startedEvent, TempDirectory } from "./audit-fixture.ts";

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function linesOf(text: string): string[] {
  return text.split("\n").slice(0, -1);
}

test("an append gets its seq, prev and time, and is on disk when it is durable", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  const { log } = opened;
  assert.equal(log.head, 0);
  const first = log.append(startedEvent(0), NO_BLOBS);
  const second = log.append(sessionEvent("s-1"), NO_BLOBS);
  assert.deepEqual([first.seq, second.seq, log.head, first.time], [1, 2, 2, "2026-01-05T08:00:00.000Z"]);
  await second.durable;
  const [firstLine = "", secondLine = ""] = linesOf(home.text(DAY));
  assert.deepEqual([firstLine, secondLine], [JSON.stringify(first.record), JSON.stringify(second.record)]);
  assert.equal(first.record.prev, "0".repeat(64));
  assert.equal(second.record.prev, createHash("sha256").update(firstLine).digest("hex"));
  assert.deepEqual(second.record.event, sessionEvent("s-1"));
});

test("directory, files and blobs are their owner's alone", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  await opened.log.append(startedEvent(0), new Map([[sha256("text"), "text"]])).durable;
  assert.deepEqual([home.audit, home.file("blobs"), home.file("grants")].map(modeOf), [0o700, 0o700, 0o700]);
  assert.deepEqual([home.file(DAY), home.file(`blobs/${sha256("text")}`)].map(modeOf), [0o600, 0o600]);
});

test("a grant's text is kept under its hash, for its owner alone, and what can't be kept is an error", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  const hash = sha256("id = 1");
  await opened.log.keepGrant(hash, "id = 1");
  assert.equal(home.text(`grants/${hash}`), "id = 1");
  assert.equal(modeOf(home.file(`grants/${hash}`)), 0o600);
  // A folder where the text is to be written aside: not even root gets past it.
  const other = sha256("id = 2");
  mkdirSync(home.file(`grants/.${other}.new`));
  await assert.rejects(opened.log.keepGrant(other, "id = 2"), { code: "EISDIR" });
  assert.equal(existsSync(home.file(`grants/${other}`)), false);
  // And it stays one: after a failed sync, what seems to be there may not be.
  rmSync(home.file(`grants/.${other}.new`), { recursive: true });
  for (const text of ["id = 1", "id = 2"]) await assert.rejects(opened.log.keepGrant(sha256(text), text), { code: "EISDIR" });
});

test("appends that wait together become durable in the order of their seq", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  const order: number[] = [];
  const appended = Array.from({ length: 200 }, (_, index) => opened.log.append(sessionEvent(`s-${index}`), NO_BLOBS));
  await Promise.all(
    appended.map(async ({ seq, durable }) => {
      await durable;
      order.push(seq);
    }),
  );
  assert.deepEqual(
    order,
    appended.map(({ seq }) => seq),
  );
  assert.equal(linesOf(home.text(DAY)).length, 200);
});

test("an append during a running sync goes with the next batch, on the same chain", async () => {
  using home = new TempDirectory();
  const seen: number[] = [];
  {
    await using opened = await openLog(home.audit);
    await Promise.all(
      Array.from({ length: 20 }, async (_, caller) => {
        for (let round = 0; round < 10; round++) await opened.log.append(sessionEvent(`s-${caller}-${round}`), NO_BLOBS).durable;
      }),
    );
  }
  await using again = await openLog(home.audit);
  seen.push(...again.records.map(({ seq }) => seq));
  assert.deepEqual(
    seen,
    Array.from({ length: 200 }, (_, index) => index + 1),
  );
});

test("a new UTC day gets its own file, chained on the one before, also within one batch", async () => {
  using home = new TempDirectory();
  const clock = new FakeClock();
  {
    await using opened = await openLog(home.audit, clock);
    clock.text = "2026-01-05T23:59:59.999Z";
    const last = opened.log.append(startedEvent(0), NO_BLOBS);
    clock.text = "2026-01-06T00:00:00.000Z";
    const first = opened.log.append(startedEvent(1), NO_BLOBS);
    clock.text = "2026-01-09T00:00:00.000Z";
    const later = opened.log.append(startedEvent(2), NO_BLOBS);
    await later.durable;
    assert.equal(first.record.prev, sha256(JSON.stringify(last.record)));
  }
  assert.deepEqual(readdirSync(home.audit).sort(), [DAY, "2026-01-06.jsonl", "2026-01-09.jsonl", "blobs", "grants"]);
  await using again = await openLog(home.audit, clock);
  assert.equal(again.records.length, 3);
});

test("a clock set back never leads back to an earlier day's file, nor after a restart", async () => {
  using home = new TempDirectory();
  const clock = new FakeClock();
  {
    await using opened = await openLog(home.audit, clock);
    await opened.log.append(startedEvent(0), NO_BLOBS).durable;
    clock.text = "2026-01-03T12:00:00.000Z";
    const back = opened.log.append(startedEvent(1), NO_BLOBS);
    await back.durable;
    assert.equal(back.time, "2026-01-03T12:00:00.000Z");
  }
  {
    await using again = await openLog(home.audit, clock);
    await again.log.append(startedEvent(2), NO_BLOBS).durable;
  }
  assert.deepEqual(readdirSync(home.audit).sort(), [DAY, "blobs", "grants"]);
  await using last = await openLog(home.audit, clock);
  assert.equal(last.records.length, 3);
});

test("a blob is on disk before its record, once, and again where a broken one lies in its place", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  const text = `long text ${"ü".repeat(2000)}`;
  const path = home.file(`blobs/${sha256(text)}`);
  const blobs = new Map([[sha256(text), text]]);
  await opened.log.append(startedEvent(0), blobs).durable;
  assert.equal(home.text(`blobs/${sha256(text)}`), text);
  const { ino } = statSync(path);
  await opened.log.append(startedEvent(1), blobs).durable;
  assert.equal(statSync(path).ino, ino);
  truncateSync(path, 10);
  writeFileSync(home.file(`blobs/.${sha256(text)}.new`), "left by a crash, and longer than what follows".repeat(1000));
  await opened.log.append(startedEvent(2), blobs).durable;
  assert.equal(home.text(`blobs/${sha256(text)}`), text);
  assert.deepEqual(readdirSync(home.file("blobs")), [sha256(text)]);
});

test("a blob under a hash that isn't its own, and an event that is no record, are refused and the log goes on", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  const { log } = opened;
  assert.throws(() => log.append(startedEvent(0), new Map([[sha256("a"), "b"]])), RangeError);
  const stray = { ...startedEvent(0), more: true };
  assert.throws(() => log.append(stray, NO_BLOBS), RangeError);
  const halfPair = approvalEvent(ApprovalId.parse(1), { answer: "refused", by: "bxctl", reason: "\udfff" });
  assert.throws(() => log.append(halfPair, NO_BLOBS), RangeError);
  assert.equal(log.stopped, false);
  const good = log.append(startedEvent(0), NO_BLOBS);
  await good.durable;
  assert.equal(good.seq, 1);
  assert.equal(linesOf(home.text(DAY)).length, 1);
});

test("a text that is kept many times at once is kept", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  const text = "id = 1 ".repeat(100);
  await Promise.all(Array.from({ length: 20 }, async () => await opened.log.keepGrant(sha256(text), text)));
  assert.deepEqual(readdirSync(home.file("grants")), [sha256(text)]);
});

const INTRUSIONS: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ["deleted", (path) => rmSync(path), /"2026-01-05\.jsonl" was deleted/u],
  ["appended to", (path) => appendFileSync(path, "x"), /has \d+ bytes, expected \d+: somebody else wrote to it/u],
  ["cut", (path) => truncateSync(path, 3), /has 3 bytes, expected/u],
  ["given a second name", (path) => linkSync(path, `${path}.link`), /has 2 names, expected this one only/u],
  ["renamed", (path) => renameSync(path, `${path}.old`), /was moved or replaced/u],
  [
    "replaced by a copy",
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(path, `${path}.held`);
      renameSync(`${path}.copy`, path);
    },
    /was moved or replaced/u,
  ],
];

for (const [name, intrude, expected] of INTRUSIONS) {
  test(`a file that was ${name} stops the log at the next batch, for good`, async () => {
    using home = new TempDirectory();
    await using opened = await openLog(home.audit);
    const { log } = opened;
    await log.append(startedEvent(0), NO_BLOBS).durable;
    intrude(home.file(DAY));
    const left = existsSync(home.file(DAY)) ? home.text(DAY) : undefined;
    const [first, second] = [log.append(startedEvent(1), NO_BLOBS), log.append(startedEvent(2), NO_BLOBS)];
    const isStopped = (error: unknown): boolean => error instanceof AuditStoppedError && expected.test(error.message);
    await assert.rejects(first.durable, isStopped);
    await assert.rejects(second.durable, isStopped);
    assert.equal(log.stopped, true);
    assert.throws(() => log.append(startedEvent(3), NO_BLOBS), AuditStoppedError);
    assert.equal(opened.warnings.length, 1);
    assert.match(opened.warnings[0] ?? "", /^audit log in ".+" stopped: .+; see docs\/runbook\.md#audit-unavailable$/u);
    assert.equal(existsSync(home.file(DAY)) ? home.text(DAY) : undefined, left);
  });
}

test("a new day's file that somebody else has made stops the log", async () => {
  using home = new TempDirectory();
  const clock = new FakeClock();
  await using opened = await openLog(home.audit, clock);
  await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  writeFileSync(home.file("2026-01-06.jsonl"), "");
  clock.text = "2026-01-06T00:00:00.000Z";
  await assert.rejects(opened.log.append(startedEvent(1), NO_BLOBS).durable, /open failed with EEXIST/u);
  assert.equal(opened.log.stopped, true);
});

test("a blob that can't be written stops the log before its record is", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  rmSync(home.file("blobs"), { recursive: true });
  const blobs = new Map([[sha256("text"), "text"]]);
  await assert.rejects(opened.log.append(startedEvent(1), blobs).durable, AuditStoppedError);
  assert.equal(linesOf(home.text(DAY)).length, 1);
});

test("closing writes what waits, gives up the lock, and ends appending", async () => {
  using home = new TempDirectory();
  const opened = await openLog(home.audit);
  const waiting = opened.log.append(startedEvent(0), NO_BLOBS);
  await opened.log[Symbol.asyncDispose]();
  await waiting.durable;
  assert.throws(() => opened.log.append(startedEvent(1), NO_BLOBS), AuditStoppedError);
  assert.deepEqual(opened.warnings, []);
  await opened.log[Symbol.asyncDispose]();
  await using again = await openLog(home.audit);
  assert.equal(again.log.head, 1);
});

test("a clock outside the years 1970 to 9999 is refused, and the log goes on", async () => {
  using home = new TempDirectory();
  let time = -1;
  await using opened = await openLog(home.audit, { now: () => time, monotonic: () => 0 });
  assert.throws(() => opened.log.append(startedEvent(0), NO_BLOBS), RangeError);
  time = 0;
  await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  assert.ok(existsSync(home.file("1970-01-01.jsonl")));
});
