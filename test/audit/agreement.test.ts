/** The program that writes the log and the one that verifies it come to the same judgement on every damaged log. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { openAuditLog } from "../../packages/brokerd/src/audit/audit-log.ts";
import { verifyAudit } from "../../packages/bxctl/src/audit/verify-audit.ts";
import { DAMAGED_LOGS } from "../../packages/proto/test/audit/damaged-logs.ts";

class LogDirectory implements Disposable {
  readonly path = AbsPath.parse(realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-agreement-"))));

  write(files: Iterable<readonly [string, Uint8Array | string]>): void {
    for (const [name, bytes] of files) writeFileSync(join(this.path, name), bytes, { mode: 0o600 });
  }

  /** The day files as they are now. */
  read(): Map<string, Buffer> {
    const names = readdirSync(this.path).filter((name) => name.endsWith(".jsonl"));
    return new Map(names.map((name) => [name, readFileSync(join(this.path, name))]));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

async function verify(directory: string): Promise<{ status: number; text: string }> {
  let text = "";
  const status = await verifyAudit(directory, { write: (part) => (text += part) });
  return { status, text };
}

/** Starts and stops the log as brokerd does: its head, or why it is refused. */
async function start(directory: AbsPath, acceptBreak = false): Promise<number | string> {
  const clock = { now: () => Date.parse("2026-01-10T00:00:00.000Z"), monotonic: () => 0 };
  const ignore = (): void => {};
  const opening = await openAuditLog({ directory, clock, acceptBreak, onRecord: ignore, onRestart: ignore, warn: ignore });
  if (opening.kind === "refused") return opening.problem;
  const { head } = opening.log;
  await opening.log[Symbol.asyncDispose]();
  return head;
}

/** The part of either program's message that says where the chain breaks. */
function breakIn(message: string): string {
  return /broken: (?<place>.+); see docs\/runbook\.md#audit-broken/u.exec(message)?.groups?.["place"] ?? `no break in: ${message}`;
}

for (const { name, files, verdict } of DAMAGED_LOGS) {
  test(`start and verify agree on ${name}`, async () => {
    using directory = new LogDirectory();
    directory.write(files);
    const before = directory.read();
    const { status, text } = await verify(directory.path);
    const started = await start(directory.path);
    if (verdict.kind === "broken") {
      assert.equal(status, 1);
      assert.equal(typeof started, "string");
      assert.equal(breakIn(text), breakIn(String(started)));
      assert.ok(breakIn(text).startsWith(`"${verdict.file}" line ${verdict.line} `), text);
      assert.deepEqual(directory.read(), before);
      return;
    }
    const torn = verdict.kind === "torn" ? verdict.lines : 0;
    assert.equal(status, 0, text);
    assert.ok(text.startsWith(`audit: ok, ${verdict.records} records\n`), text);
    assert.equal(text.includes(`torn tail: ${torn}\n`), torn > 0, text);
    assert.equal(started, verdict.head + torn);
    for (const [file, bytes] of before) {
      const after = directory.read().get(file);
      assert.ok(after?.subarray(0, bytes.length).equals(bytes), "nothing that was there has changed");
    }
    const again = await verify(directory.path);
    assert.equal(again.status, 0, again.text);
    assert.ok(again.text.startsWith(`audit: ok, ${verdict.records + torn} records\n`), again.text);
    assert.ok(!again.text.includes("torn tail"), again.text);
  });
}

const NOTHING_TO_ACCEPT = "the audit log isn't broken, start without --accept-break; see docs/runbook.md#audit-break-accepted";

for (const { name, files, verdict } of DAMAGED_LOGS.filter(({ verdict }) => verdict.kind === "broken")) {
  test(`what is accepted stays accepted, for start and verify, in ${name}`, async () => {
    using directory = new LogDirectory();
    directory.write(files);
    const { text: broken } = await verify(directory.path);
    const head = await start(directory.path, true);
    assert.equal(typeof head, "number", String(head));
    const { status, text } = await verify(directory.path);
    assert.equal(status, 0, text);
    assert(verdict.kind === "broken");
    const place = `given up from "${verdict.file}" line ${verdict.line} on, behind seq ${verdict.lastGood}\n`;
    assert.ok(text.includes(place), `${text}\n${broken}`);
    assert.equal(await start(directory.path), head);
    const before = directory.read();
    assert.equal(await start(directory.path, true), NOTHING_TO_ACCEPT);
    assert.deepEqual(directory.read(), before);
    for (const [file, bytes] of files) {
      assert.ok(before.get(file)?.subarray(0, bytes.length).equals(bytes), "nothing that was there has changed");
    }
    // The lines that were given up are pinned like all others.
    const [first = ""] = [...before.keys()].sort();
    const bytes = before.get(first) ?? Buffer.alloc(0);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 3) ^ 1, bytes.length - 3);
    directory.write([[first, bytes]]);
    assert.equal((await verify(directory.path)).status, 1);
    assert.equal(typeof (await start(directory.path)), "string");
  });
}

for (const { name, files } of DAMAGED_LOGS.filter(({ verdict }) => verdict.kind !== "broken")) {
  test(`there is nothing to accept in ${name}, and nothing is written`, async () => {
    using directory = new LogDirectory();
    directory.write(files);
    assert.equal(await start(directory.path, true), NOTHING_TO_ACCEPT);
    assert.deepEqual(directory.read(), files);
  });
}

test("start and verify agree that at least forty kinds of damage break a log", () => {
  assert.ok(DAMAGED_LOGS.filter(({ verdict }) => verdict.kind === "broken").length >= 40);
});

test("start and verify refuse the same directories, and mention the same strangers", async () => {
  using directory = new LogDirectory();
  directory.write([["2026-13-01.jsonl", "x"]]);
  const { status, text } = await verify(directory.path);
  assert.equal(status, 0);
  assert.ok(text.startsWith('audit: "2026-13-01.jsonl" is no part of the log\naudit: ok, 0 records\n'), text);
  assert.equal(await start(directory.path), 0);
  for (const name of ["2026-01-05.jsonl", "grants"]) {
    using other = new LogDirectory();
    symlinkSync("/nowhere", join(other.path, name));
    assert.equal((await verify(other.path)).status, 1);
    assert.match(String(await start(other.path)), /is a symbolic link/u);
  }
  using real = new LogDirectory();
  const link = AbsPath.parse(join(real.path, "link"));
  mkdirSync(join(real.path, "audit"));
  symlinkSync(join(real.path, "audit"), link);
  assert.equal((await verify(link)).status, 2);
  assert.match(String(await start(link)), /is a link or a file/u);
});
