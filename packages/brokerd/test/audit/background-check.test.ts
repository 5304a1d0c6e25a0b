import assert from "node:assert/strict";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { BackgroundCheck } from "../../src/audit/background-check.ts";
import { DAY, FakeClock, NO_BLOBS, openLog, startedEvent, TempDirectory } from "./audit-fixture.ts";

const NEXT_DAY = "2026-01-06.jsonl";

async function writeTwoDays(home: TempDirectory): Promise<void> {
  const clock = new FakeClock();
  await using opened = await openLog(home.audit, clock);
  for (const day of [5, 6]) {
    clock.text = `2026-01-0${day}T08:00:00.000Z`;
    for (let index = 0; index < 3; index++) await opened.log.append(startedEvent(opened.log.head), NO_BLOBS).durable;
  }
}

async function check(home: TempDirectory): Promise<readonly string[]> {
  const lines: string[] = [];
  await using running = new BackgroundCheck({ directory: home.audit, warn: (line) => lines.push(line) });
  await running.done;
  return lines;
}

test("a sound log, and one whose last line is being written, are checked without a word", async () => {
  using home = new TempDirectory();
  await writeTwoDays(home);
  assert.deepEqual(await check(home), []);
  writeFileSync(home.file(NEXT_DAY), home.text(NEXT_DAY).slice(0, -10));
  assert.deepEqual(await check(home), []);
});

test("damage in an older file is told once, as verify tells it", async () => {
  using home = new TempDirectory();
  await writeTwoDays(home);
  writeFileSync(home.file(DAY), home.text(DAY).replace('"version":"0', '"version":"9'));
  const [line = "", ...more] = await check(home);
  assert.match(line, /^the audit log is broken: "2026-01-05\.jsonl" line 2 .+ seq 1; see docs\/runbook\.md#audit-broken$/u);
  assert.deepEqual(more, []);
});

test("a log that can't be read is told", async () => {
  using home = new TempDirectory();
  await writeTwoDays(home);
  rmSync(home.file(DAY));
  symlinkSync("/nowhere", home.file(DAY));
  assert.match((await check(home)).join("\n"), /^cannot check all of the audit log .+ is a symbolic link, .+#audit-directory$/u);
  rmSync(home.audit, { recursive: true });
  assert.match((await check(home)).join("\n"), /^cannot check all of the audit log .+ENOENT.+#audit-directory$/u);
});

test("a check that is ended says nothing of what it hasn't read", async () => {
  using home = new TempDirectory();
  await writeTwoDays(home);
  writeFileSync(home.file(NEXT_DAY), "nonsense\nnonsense\n");
  const lines: string[] = [];
  await new BackgroundCheck({ directory: home.audit, warn: (line) => lines.push(line) })[Symbol.asyncDispose]();
  assert.deepEqual(lines, []);
});
