import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { verifyAudit } from "../../src/audit/verify-audit.ts";
import { answered, hashOf } from "../support/audit-folder.ts";

const ZEROS = "0".repeat(64);
const LABEL = { taint: "private", untrusted: false };

function decision(call: number, outcome: string): object {
  return {
    kind: "decision",
    session: "s-1",
    call,
    tool: "shell",
    arguments: { form: "unread", text: { sha256: hashOf("{}"), bytes: 2 } },
    now: "2026-01-05T08:00:00.000Z",
    policy_version: 1,
    before: LABEL,
    path_labels: [],
    uses_left: [],
    matched: [],
    outcome,
    reason: outcome === "denied" ? "no_grant" : null,
    grant: null,
    grant_sha256: null,
    label: null,
    raises: null,
    spends: null,
    run: null,
  };
}

/** A directory with a log of these events, one millisecond apart unless a time is given. */
class Log implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "boxmaker-verify-"));
  #seq = 0;
  #prev = ZEROS;

  add(file: string, event: object, time = `2026-01-05T08:00:00.${String(this.#seq).padStart(3, "0")}Z`): this {
    this.#seq++;
    const line = JSON.stringify({ seq: this.#seq, time, prev: this.#prev, event });
    appendFileSync(join(this.path, file), `${line}\n`);
    this.#prev = hashOf(line);
    return this;
  }

  get head(): string {
    return this.#prev;
  }

  async verify(): Promise<{ status: number; text: string }> {
    return await verify(this.path);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

async function verify(path: string): Promise<{ status: number; text: string }> {
  let text = "";
  const status = await verifyAudit(path, { write: (part) => (text += part) });
  return { status, text };
}

const DAY = "2026-01-05.jsonl";
const LIMIT = "note: a hash chain alone can't show that its tail was cut off, nor that it was rewritten as a whole";

test("a sound log is counted, its last record named, and what a bare chain can't show is said", async () => {
  using log = new Log();
  log.add(DAY, { kind: "started", version: "1", config_sha256: ZEROS, head: 0, reserved: [] }).add(DAY, { kind: "stopped" });
  assert.deepEqual(await log.verify(), {
    status: 0,
    text: [
      "audit: ok, 2 records",
      `last record: seq 2, 2026-01-05T08:00:00.001Z, sha256 ${log.head}`,
      `${LIMIT}; keep the line above somewhere else, and compare`,
      "",
    ].join("\n"),
  });
});

test("an empty directory is a log of no records", async () => {
  using log = new Log();
  assert.deepEqual(await log.verify(), { status: 0, text: `audit: ok, 0 records\n${LIMIT}\n` });
});

test("what a log leaves open is listed", async () => {
  using log = new Log();
  const approval = answered(9, "refused");
  log.add(DAY, decision(1, "ask")).add(DAY, decision(2, "allowed")).add(DAY, { kind: "stopped" }, "2026-01-04T00:00:00.000Z");
  const half = "half \u001b[2J";
  const { length } = readFileSync(join(log.path, DAY));
  appendFileSync(join(log.path, DAY), `${half}\n`);
  log.add(DAY, { kind: "recovery", file: DAY, offset: length, bytes: half.length, sha256: hashOf(half) });
  log.add(DAY, approval);
  log.add("2026-01-06.jsonl", { kind: "stopped" });
  appendFileSync(join(log.path, "2026-01-06.jsonl"), '{"seq"');
  const { status, text } = await log.verify();
  assert.equal(status, 0);
  assert.deepEqual(text.split("\n").slice(0, -3), [
    "audit: ok, 6 records",
    "torn tail: 1",
    '  "2026-01-06.jsonl" line 2, 6 bytes: brokerd is writing it now, or was cut off and recovers it at its next start',
    "recoveries: 1",
    `  seq 4: 9 bytes at offset ${length} of "${DAY}"`,
    "asks without an answer: 1",
    "  seq 1",
    "allowed calls without a result: 1",
    "  seq 2",
    "answers and results that belong to nothing: 1",
    "  seq 5",
    "clock steps backwards: 1",
    "  seq 3: from 2026-01-05T08:00:00.001Z to 2026-01-04T00:00:00.000Z",
    "files that begin with a record of an earlier day: 1",
    '  "2026-01-06.jsonl": 2026-01-05T08:00:00.005Z',
  ]);
});

test("a long list is cut, and says by how much", async () => {
  using log = new Log();
  for (let call = 1; call <= 103; call++) log.add(DAY, decision(call, "ask"));
  const { text } = await log.verify();
  assert.match(text, /asks without an answer: 103\n {2}seq 1\n[\s\S]+ {2}seq 100\n {2}and 3 more\nlast record/u);
});

test("the first failure is one line with its place, what was expected and found, and the last good record", async () => {
  using log = new Log();
  log.add(DAY, { kind: "stopped" });
  appendFileSync(join(log.path, DAY), `{"seq":2,"\u009b31m":1}\nmore\n`);
  const { status, text } = await log.verify();
  assert.equal(status, 1);
  assert.match(
    text,
    /^audit: broken: "2026-01-05\.jsonl" line 2 \(offset \d+\): expected a record with seq 2 .+, found .+; the last good record is seq 1; see docs\/runbook\.md#audit-broken\n$/u,
  );
  assert.doesNotMatch(text.slice(0, -1), /\p{C}/u);
});

test("a missing directory, and a link or file in its place, are usage errors with a pointer", async () => {
  using log = new Log();
  writeFileSync(join(log.path, "file"), "");
  mkdirSync(join(log.path, "real"));
  symlinkSync("real", join(log.path, "link"));
  for (const name of ["missing", "file", "link", "missing/\u001b[2J"]) {
    const { status, text } = await verify(join(log.path, name));
    assert.equal(status, 2, name);
    assert.match(text, /^audit: cannot verify "[^\n]+; see docs\/runbook\.md#audit-directory\n$/u);
    assert.doesNotMatch(text.slice(0, -1), /\p{C}/u);
  }
});

test("a folder or link in the place of a day file fails, by name", async () => {
  using log = new Log();
  mkdirSync(join(log.path, DAY));
  const { status, text } = await log.verify();
  assert.equal(status, 1);
  assert.match(text, /"2026-01-05\.jsonl" is a folder, expected a file; see docs\/runbook\.md#audit-directory\n$/u);
});

test("names that are no part of the log are mentioned, escaped", async () => {
  using log = new Log();
  writeFileSync(join(log.path, "2026-02-30.jsonl"), "nothing");
  writeFileSync(join(log.path, "\u001b[2J"), "");
  mkdirSync(join(log.path, "blobs"));
  const { status, text } = await log.verify();
  assert.equal(status, 0);
  assert.ok(
    text.startsWith('audit: "\\u001b[2J" is no part of the log\naudit: "2026-02-30.jsonl" is no part of the log\naudit: ok, 0'),
    text,
  );
});
