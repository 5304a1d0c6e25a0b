import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { DAY, FakeClock, NO_BLOBS, openLog, refusedLog, sessionEvent, startedEvent, TempDirectory } from "./audit-fixture.ts";

/** A log of three records in one file; returns its text. */
async function writeThree(home: TempDirectory): Promise<string> {
  await using opened = await openLog(home.audit);
  for (const event of [startedEvent(0), sessionEvent("s-1"), startedEvent(2, "0.2.0-ü")]) opened.log.append(event, NO_BLOBS);
  await opened.log.append(sessionEvent("s-2"), NO_BLOBS).durable;
  return home.text(DAY);
}

test("a missing directory is made with its parents, and is an empty log", async () => {
  using home = new TempDirectory();
  const deep = AbsPath.parse(join(home.path, "a/b/audit"));
  await using opened = await openLog(deep);
  assert.deepEqual([opened.log.head, opened.records, opened.notices], [0, [], []]);
  assert.equal(statSync(deep).mode & 0o777, 0o700);
});

test("an empty directory and a single empty file are a log without records, and the file is used", async () => {
  using home = new TempDirectory();
  mkdirSync(home.audit, { mode: 0o700 });
  writeFileSync(home.file(DAY), "");
  {
    await using opened = await openLog(home.audit);
    assert.deepEqual([opened.log.head, opened.notices], [0, []]);
    await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  }
  await using again = await openLog(home.audit);
  assert.equal(again.records.length, 1);
});

test("every record is handed over at start, in order, and appending goes on behind the last one", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  await using opened = await openLog(home.audit);
  assert.equal(opened.records.map((record) => `${JSON.stringify(record)}\n`).join(""), text);
  const next = opened.log.append(startedEvent(4), NO_BLOBS);
  await next.durable;
  assert.equal(next.seq, 5);
  assert.ok(home.text(DAY).startsWith(text));
});

test("a directory open to others is closed to them, with a notice", async () => {
  using home = new TempDirectory();
  mkdirSync(home.audit);
  chmodSync(home.audit, 0o755);
  await using opened = await openLog(home.audit);
  assert.equal(statSync(home.audit).mode & 0o777, 0o700);
  assert.match(opened.notices.join("\n"), /^took other users' access to ".+" away$/u);
});

test("what is no part of the log is left alone and mentioned, its name escaped", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  for (const name of ["2026-0x-18.jsonl", "2026-13-01.jsonl", "notes\u001b[2J.txt"]) writeFileSync(home.file(name), text);
  await using opened = await openLog(home.audit);
  assert.equal(opened.records.length, 4);
  assert.equal(opened.notices.length, 3);
  assert.ok(opened.notices.some((line) => line.startsWith('"notes\\u001b[2J.txt" in ')));
});

test("a link or a file in the place of the directory is refused, and the link's target isn't touched", async () => {
  using home = new TempDirectory();
  const target = join(home.path, "elsewhere");
  mkdirSync(target, { mode: 0o755 });
  symlinkSync(target, home.audit);
  const problem = await refusedLog(home.audit);
  assert.match(problem, /^cannot use ".+" as the audit log: it is a link or a file.+#audit-directory$/u);
  assert.deepEqual(readdirSync(target), []);
  assert.equal(statSync(target).mode & 0o777, 0o755);
  const file = AbsPath.parse(join(home.path, "file"));
  writeFileSync(file, "");
  assert.match(await refusedLog(file), /#audit-directory$/u);
});

test("a link in the place of a day file or of the blobs is refused by name", async () => {
  for (const name of [DAY, "blobs", "grants"]) {
    using home = new TempDirectory();
    mkdirSync(home.audit, { mode: 0o700 });
    symlinkSync(join(home.path, "elsewhere"), home.file(name));
    assert.match(await refusedLog(home.audit), new RegExp(`"${name}" is a symbolic link.+#audit-directory$`, "u"));
  }
});

test("a newest file that has a second name is refused, since somebody else may write to it", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  linkSync(home.file(DAY), join(home.path, "elsewhere"));
  assert.match(await refusedLog(home.audit), /"2026-01-05\.jsonl" has 2 names, expected this one only; see .+#audit-directory$/u);
  assert.equal(home.text(DAY), text);
});

test("a machine without flock is refused, and says what to install", async () => {
  using home = new TempDirectory();
  const problem = await refusedLog(home.audit, { lockPrograms: ["/nowhere/flock"] });
  assert.match(problem, /find no flock program at \/nowhere\/flock, expected util-linux; see docs\/runbook\.md#audit-directory$/u);
});

test("a lock program that fails is no lock", async () => {
  using home = new TempDirectory();
  const problem = await refusedLog(home.audit, { lockPrograms: ["/bin/false"] });
  assert.match(problem, /\/bin\/false ended with status 1, expected status 0; see docs\/runbook\.md#audit-directory$/u);
});

test("a second log in the same directory is refused while the first is open, having touched nothing", async () => {
  using home = new TempDirectory();
  await writeThree(home);
  {
    await using opened = await openLog(home.audit);
    appendFileSync(home.file(DAY), "half a line");
    const before = home.text(DAY);
    assert.match(await refusedLog(home.audit), /^the audit log in ".+" is held by another brokerd, .+#audit-locked$/u);
    assert.equal(home.text(DAY), before);
    assert.equal(opened.log.stopped, false);
  }
  await using again = await openLog(home.audit);
  assert.equal(again.notices.length, 1);
});

test("a broken log is refused with its place, and nothing is written", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  const changed = text.replace("s-1", "s-7");
  writeFileSync(home.file(DAY), changed);
  const problem = await refusedLog(home.audit);
  assert.match(
    problem,
    /^the audit log is broken: "2026-01-05\.jsonl" line 3 .+expected prev [0-9a-f]{64}, found prev [0-9a-f]{64}; the last good record is seq 2; see docs\/runbook\.md#audit-broken$/u,
  );
  assert.equal(home.text(DAY), changed);
  assert.match(await refusedLog(home.audit), /#audit-broken$/u);
});

test("a torn line is ended where it is and described by a recovery record, and the next start is quiet", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  const tail = '{"seq":5,"time":"ü';
  appendFileSync(home.file(DAY), tail);
  {
    await using opened = await openLog(home.audit);
    assert.match(
      opened.notices.join("\n"),
      /^audit log: "2026-01-05\.jsonl" line 5 was cut off \(19 bytes\).+in seq 5; see docs\/runbook\.md#audit-recovered$/u,
    );
    assert.equal(opened.log.head, 5);
    const event = { kind: "recovery", file: DAY, offset: Buffer.byteLength(text), bytes: 19, sha256: sha256(tail) };
    assert.deepEqual(opened.records.at(-1)?.event, event);
  }
  assert.ok(home.text(DAY).startsWith(`${text}${tail}\n{"seq":5,`));
  await using again = await openLog(home.audit);
  assert.deepEqual([again.notices, again.records.length], [[], 5]);
});

test("a torn first record is recovered", async () => {
  using home = new TempDirectory();
  mkdirSync(home.audit, { mode: 0o700 });
  writeFileSync(home.file(DAY), '{"seq":1');
  {
    await using opened = await openLog(home.audit);
    assert.equal(opened.log.head, 1);
  }
  await using again = await openLog(home.audit);
  assert.equal(again.records.length, 1);
});

test("a torn tail before an empty newest file is ended in its own file, and described in the newest", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  appendFileSync(home.file(DAY), "half");
  writeFileSync(home.file("2026-01-06.jsonl"), "");
  {
    await using opened = await openLog(home.audit);
    assert.equal(opened.log.head, 5);
  }
  assert.equal(home.text(DAY), `${text}half\n`);
  assert.match(home.text("2026-01-06.jsonl"), /^\{"seq":5,.+"kind":"recovery","file":"2026-01-05\.jsonl"/u);
  await using again = await openLog(home.audit);
  assert.equal(again.records.length, 5);
});

test("a torn tail that is recovered on a later day is described in that day's file", async () => {
  using home = new TempDirectory();
  const text = await writeThree(home);
  appendFileSync(home.file(DAY), "half");
  const clock = new FakeClock();
  clock.text = "2026-01-07T00:00:00.000Z";
  {
    await using opened = await openLog(home.audit, clock);
    assert.equal(opened.log.head, 5);
  }
  assert.equal(home.text(DAY), `${text}half\n`);
  await using again = await openLog(home.audit, clock);
  assert.equal(again.records.length, 5);
});

test("a recovery that was cut off at any byte is recovered at the next start, with both torn lines described", async () => {
  using home = new TempDirectory();
  await writeThree(home);
  const whole = home.text(DAY);
  appendFileSync(home.file(DAY), "half");
  {
    await using opened = await openLog(home.audit);
    assert.equal(opened.log.head, 5);
  }
  const recovered = home.text(DAY);
  const start = Buffer.byteLength(`${whole}half\n`);
  const bytes = Buffer.from(recovered);
  for (let cut = start; cut < bytes.length; cut += 9) {
    writeFileSync(home.file(DAY), bytes.subarray(0, cut));
    {
      await using opened = await openLog(home.audit);
      assert.equal(opened.notices.length, cut === start ? 1 : 2, `cut at ${cut}`);
    }
    await using again = await openLog(home.audit);
    assert.deepEqual(again.notices, []);
  }
});

test("files of the log that a moved directory left behind aren't followed by the old lock", async () => {
  using home = new TempDirectory();
  await using opened = await openLog(home.audit);
  await opened.log.append(startedEvent(0), NO_BLOBS).durable;
  renameSync(home.audit, join(home.path, "moved"));
  await using second = await openLog(home.audit);
  await second.log.append(startedEvent(0), NO_BLOBS).durable;
  await assert.rejects(opened.log.append(startedEvent(1), NO_BLOBS).durable, /was moved or replaced/u);
});
