/** A log cut at every byte of its last three records, and with zero bytes where the cut took some: every one of them starts. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { DAY, NO_BLOBS, openLog, sessionEvent, startedEvent, TempDirectory } from "./audit-fixture.ts";
import { judge } from "./traced-run.ts";

const NEWLINE = 0x0a;

async function writeLog(home: TempDirectory): Promise<Buffer> {
  await using opened = await openLog(home.audit);
  for (const event of [sessionEvent("s-1"), sessionEvent("s-2"), startedEvent(2, "ü-日本-🗒"), sessionEvent("s-3")]) {
    await opened.log.append(event, NO_BLOBS).durable;
  }
  return readFileSync(home.file(DAY));
}

async function checkRecovers(home: TempDirectory, bytes: Buffer, name: string): Promise<void> {
  writeFileSync(home.file(DAY), bytes);
  const whole = bytes.filter((byte) => byte === NEWLINE).length;
  const isTorn = bytes.at(-1) !== NEWLINE;
  const before = await judge(home);
  assert(before.kind === (isTorn ? "torn" : "whole"), name);
  assert.equal(before.head.seq, whole, name);
  {
    await using opened = await openLog(home.audit);
    assert.equal(opened.log.head, whole + (isTorn ? 1 : 0), name);
    assert.equal(opened.notices.length, isTorn ? 1 : 0, name);
  }
  assert.ok(readFileSync(home.file(DAY)).subarray(0, bytes.length).equals(bytes), name);
  assert.equal((await judge(home)).kind, "whole", name);
}

test("a log cut at any byte of its last three records starts, with every whole record", async () => {
  using home = new TempDirectory();
  const bytes = await writeLog(home);
  const start = bytes.indexOf(NEWLINE) + 1;
  for (let cut = start; cut <= bytes.length; cut++) await checkRecovers(home, bytes.subarray(0, cut), `cut at ${cut}`);
});

test("a log whose end the disk filled with zero bytes starts, with every whole record", async () => {
  using home = new TempDirectory();
  const bytes = await writeLog(home);
  for (let cut = bytes.indexOf(NEWLINE) + 1; cut < bytes.length; cut += 7) {
    await checkRecovers(home, Buffer.concat([bytes.subarray(0, cut), Buffer.alloc(512)]), `zeros from ${cut}`);
  }
});

test("a log whose last line has lost a part to zero bytes, newline kept or not, starts with every record before it", async () => {
  using home = new TempDirectory();
  const bytes = await writeLog(home);
  const last = bytes.subarray(0, -1).lastIndexOf(NEWLINE) + 1;
  for (let start = last; start < bytes.length - 1; start += 13) {
    for (const length of [1, 16, 4096]) {
      const zeroed = Buffer.from(bytes);
      zeroed.subarray(start, Math.min(start + length, bytes.length - 1)).fill(0);
      for (const kept of [zeroed, zeroed.subarray(0, -1)]) {
        writeFileSync(home.file(DAY), kept);
        const judgement = await judge(home);
        assert(judgement.kind === "torn", `${length} zeros from ${start}`);
        assert.equal(judgement.head.seq, 3);
        await using opened = await openLog(home.audit);
        assert.equal(opened.log.head, 4);
      }
    }
  }
});
