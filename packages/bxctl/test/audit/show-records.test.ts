import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readAuditEntries, readAuditFile } from "@boxmaker/edge/audit-files";
import { AuditChain, listLog, readLog, Timestamp } from "@boxmaker/proto";
import type { FilterFlags } from "../../src/audit/audit-command.ts";
import { showRecords } from "../../src/audit/show-records.ts";
import { formatOwnerTime } from "../../src/time/owner-time.ts";
import { AuditFolder, answered, came, decided, hashOf, opened, PRIVATE, PUBLIC, STARTED } from "../support/audit-folder.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { memoryScreen } from "../support/memory-stream.ts";

async function show(directory: string, flags: FilterFlags = {}, json = false) {
  const out = memoryScreen();
  const err = memoryScreen();
  const status = await showRecords({ directory, out: out.screen, err: err.screen, json }, flags);
  return { status, out: out.stream.text, err: err.stream.text };
}

/** The seqs of the lines. */
function seqs(out: string): readonly number[] {
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Number(line.split("  ")[1]));
}

function log(): AuditFolder {
  return new AuditFolder()
    .add(STARTED, opened("a"), opened("b"), decided("a", 1, "allowed"), decided("b", 1, "ask", { tool: "shell" }))
    .day("2026-01-06")
    .add(came(4, "a", 1), answered(5, "refused", { reason: "no" }), decided("a", 2, "denied"), { kind: "stopped" });
}

test("each record is a line: the owner's time, its number, what happened", async () => {
  using folder = log();
  const at = (time: string): string => formatOwnerTime(Timestamp.parse(time));
  assert.deepEqual(await show(folder.path), {
    status: 0,
    out: [
      `${at("2026-01-05T08:00:00.000Z")}  1  brokerd 0.1.0 started`,
      `${at("2026-01-05T08:00:01.000Z")}  2  session a opened; terminal, at most secret, has seen public`,
      `${at("2026-01-05T08:00:02.000Z")}  3  session b opened; terminal, at most secret, has seen public`,
      `${at("2026-01-05T08:00:03.000Z")}  4  allowed read_file: path "/srv/notes/todo.md"; session a, call 1; grant "notes"; raises the session to private`,
      `${at("2026-01-05T08:00:04.000Z")}  5  ask shell: path "/srv/notes/todo.md"; session b, call 1; grant "notes"`,
      `${at("2026-01-06T08:00:05.000Z")}  6  ok: decision 4; 7 bytes in 12 ms`,
      `${at("2026-01-06T08:00:06.000Z")}  7  refused by bxctl: decision 5; "no"`,
      `${at("2026-01-06T08:00:07.000Z")}  8  denied read_file: path "/srv/notes/todo.md"; session a, call 2; no grant allows it`,
      `${at("2026-01-06T08:00:08.000Z")}  9  brokerd stopped`,
      "",
    ].join("\n"),
    err: "",
  });
});

test("--session and --tool take what belongs to a call with it, answers and results included", async () => {
  using folder = log();
  assert.deepEqual(seqs((await show(folder.path, { session: "a" })).out), [2, 4, 6, 8]);
  assert.deepEqual(seqs((await show(folder.path, { session: "b" })).out), [3, 5, 7]);
  assert.deepEqual(seqs((await show(folder.path, { tool: "shell" })).out), [5, 7]);
  assert.deepEqual(seqs((await show(folder.path, { session: "nobody" })).out), []);
});

test("--denied takes what didn't run: denials, refusals, and approvals that came to nothing", async () => {
  using folder = log().add(
    decided("a", 3, "ask"),
    answered(10, "approved", { outcome: "denied", denial: "taint" }),
    decided("a", 4, "ask"),
    answered(12, "expired"),
    decided("a", 5, "ask"),
    answered(14, "approved", { outcome: "changed" }),
    answered(14, "approved", { raises: PRIVATE, before: PUBLIC }),
  );
  const { out } = await show(folder.path, { denied: true });
  assert.deepEqual(seqs(out), [7, 8, 11, 13]);
  assert.match(out, /approved by bxctl: decision 10; denied all the same: the session has seen data too confidential for it\n/u);
  const whole = (await show(folder.path, { session: "a" })).out;
  assert.match(whole, /15 {2}approved by bxctl: decision 14; not run: it had changed since it was shown\n/u);
  assert.match(whole, /16 {2}approved by bxctl: decision 14; raises the session to private\n/u);
});

test("--since leaves out what is older, though what it opened is still known", async () => {
  using folder = log();
  assert.deepEqual(seqs((await show(folder.path, { since: "2026-01-06T00:00Z" })).out), [6, 7, 8, 9]);
  assert.deepEqual(seqs((await show(folder.path, { since: "2026-01-06T00:00Z", session: "b" })).out), [7]);
});

/** Appends what brokerd does where its owner accepts the log's break. */
async function acceptBreak(folder: AuditFolder): Promise<void> {
  const listing = listLog(await readAuditEntries(folder.path));
  assert(listing.kind === "log");
  const sources = listing.files.map((file) => ({ name: file.name, chunks: readAuditFile(folder.path, file) }));
  const end = await readLog(sources, new AuditChain(() => undefined));
  assert(end.kind === "broken" && end.acceptance !== undefined);
  const { event, head } = end.acceptance;
  const record = { seq: head.seq + 1, time: "2026-01-21T09:00:00.000Z", prev: head.sha256, event };
  appendFileSync(folder.file, `${JSON.stringify(record)}\n`);
}

test("--since shows an accepted break among the newer files as the whole log does", async () => {
  using folder = log();
  folder.day("2026-01-20").add(STARTED).day("2026-01-21").add(STARTED, STARTED);
  writeFileSync(folder.file, readFileSync(folder.file, "utf8").replace("0.1.0", "0.2.0"));
  const since = { since: "2026-01-21T00:00Z" };
  assert.equal((await show(folder.path, since)).status, 1);
  await acceptBreak(folder);
  const { status, out, err } = await show(folder.path, since);
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /13 {2}the owner accepted a break at line 2 of "2026-01-21\.jsonl"/u);
});

test("--since begins to read in the files of that time, so that a long log is no matter, unless they can't be taken up there", async () => {
  using folder = log()
    .day("2026-01-20")
    .add(decided("a", 3, "ask"))
    .day("2026-01-21")
    .add(answered(10, "refused"));
  const since = { since: "2026-01-21T00:00Z", session: "a" };
  assert.deepEqual(seqs((await show(folder.path, since)).out), [11]);
  // Only what lies before is damaged, which nothing is read of.
  const first = join(folder.path, "2026-01-05.jsonl");
  const before = readFileSync(first);
  writeFileSync(first, "{}\n");
  const { status, out } = await show(folder.path, since);
  assert.deepEqual([status, seqs(out)], [0, [11]]);
  assert.equal((await show(folder.path, { since: "2026-01-06T00:00Z" })).status, 1);
  writeFileSync(first, before);
  const second = join(folder.path, "2026-01-06.jsonl");
  writeFileSync(second, `${readFileSync(second, "utf8")}{}\n`);
  const broken = await show(folder.path, since);
  assert.equal(broken.status, 1);
  assert.match(broken.err, /#audit-broken\n$/u);
});

test("--json gives the records as they are in the log, one a line", async () => {
  using folder = log();
  const { out } = await show(folder.path, { denied: true }, true);
  const records = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { seq: number; event: { kind: string } });
  assert.deepEqual(
    records.map(({ seq, event }) => [seq, event.kind]),
    [
      [7, "approval"],
      [8, "decision"],
    ],
  );
});

test("every other kind of record has its line too", async () => {
  using folder = new AuditFolder().add(
    opened("c", { from: { session: "a", turn: 2, call: 1 } }),
    { kind: "grants_changed", files: [{ file: "a.toml", sha256: hashOf("a") }] },
    { kind: "grants_changed", files: [] },
    { kind: "session_grant", session: "c", grant: "session-1", sha256: hashOf("a") },
    { kind: "session_grant_ended", grant: "session-1", reason: "closed" },
    { kind: "label_reset", path: "/srv/notes", before: { taint: "secret", untrusted: true }, after: PUBLIC },
    decided("c", 1, "denied", { arguments: { form: "unread", text: { sha256: hashOf("x"), bytes: 1 } } }),
    decided("c", 2, "ask", {
      tool: "write_file",
      arguments: { form: "typed", values: { path: "/srv/x", content: { sha256: hashOf("x"), bytes: 2048 } } },
    }),
    decided("c", 3, "ask", { tool: "shell", arguments: { form: "typed", values: { command: "é".repeat(300) } } }),
  );
  const { out } = await show(folder.path);
  assert.match(out, /1 {2}session c opened; .+; rewound from a to turn 2\n/u);
  assert.match(out, /2 {2}grants changed: 1 file: "a\.toml"\n/u);
  assert.match(out, /3 {2}grants changed: 0 files\n/u);
  assert.match(out, /4 {2}allowed for session c by its owner: grant "session-1"\n/u);
  assert.match(out, /5 {2}grant "session-1" ended: closed\n/u);
  assert.match(out, /6 {2}label of "\/srv\/notes" reset by its owner: secret, untrusted to public\n/u);
  assert.match(out, /7 {2}denied read_file: 1 bytes that don't fit the tool;/u);
  assert.match(out, /8 {2}ask write_file: path "\/srv\/x", content of 2048 bytes \(blob [0-9a-f]{64}\);/u);
  assert.match(out, /9 {2}ask shell: command "é{200}" and 100 characters more;/u);
  assert.deepEqual(seqs((await show(folder.path, { session: "c" })).out), [1, 4, 5, 7, 8, 9]);
});

test("a broken log is shown, with what nothing vouches for marked, and is status 1", async () => {
  using folder = log();
  appendFileSync(folder.file, '{"seq":9}\n');
  folder.add({ kind: "stopped" });
  const { status, out, err } = await show(folder.path);
  assert.equal(status, 1);
  assert.deepEqual(seqs(out), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.match(out, / 10 {2}NOTHING VOUCHES FOR THIS: brokerd stopped\n$/u);
  assert.match(err, /^bxctl: the audit log is broken, and nothing vouches for what lies behind: .+#audit-broken\n$/u);
  assert.match((await show(folder.path, {}, true)).out, /"doubtful":true\}\n$/u);
});

test("a line that brokerd is writing now is no fault", async () => {
  using folder = log();
  appendFileSync(folder.file, folder.line({ kind: "stopped" }).slice(0, 40));
  assert.deepEqual(seqs((await show(folder.path)).out), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal((await show(folder.path)).status, 0);
});

test("flags that aren't understood are status 2", async () => {
  using folder = log();
  for (const flags of [{ session: "../x\u001b[2J" }, { since: "yesterday\u202e" }]) {
    const { status, out, err } = await show(folder.path, flags);
    assert.deepEqual([status, out], [2, ""]);
    assert.match(err, /^bxctl: .+ is no (session id|time): expected .+\n$/u);
    assert.equal(findUnsafe(err), undefined);
  }
});

test("a directory that can't be read is one line with a pointer, status 1", async () => {
  using folder = log();
  mkdirSync(join(folder.path, "2026-01-07.jsonl"));
  symlinkSync(folder.path, join(folder.path, "link"));
  for (const path of [folder.path, join(folder.path, "missing\u001b[2J")]) {
    const { status, err } = await show(path);
    assert.equal(status, 1);
    assert.match(err, /^bxctl: the audit log in ".+" can't be read: .+#audit-directory\n$/u);
    assert.equal(findUnsafe(err), undefined);
  }
});

test("nothing that a record holds can steer the terminal, as text or as JSON", async () => {
  for (const text of HOSTILE) {
    using folder = new AuditFolder().add(
      { ...STARTED, version: text },
      decided("a", 1, "ask", { tool: text, grant: text, arguments: { form: "typed", values: { command: text, url: text } } }),
      answered(2, "refused", { user: text, reason: text }),
      { kind: "grants_changed", files: [{ file: text, sha256: hashOf("a") }] },
      { kind: "session_grant", session: "a", grant: text, sha256: hashOf("a") },
      { kind: "session_grant_ended", grant: text, reason: "spent" },
    );
    for (const json of [false, true]) {
      const { status, out } = await show(folder.path, {}, json);
      assert.equal(status, 0);
      assert.equal(findUnsafe(out), undefined, JSON.stringify(out));
      assert.equal(out.trimEnd().split("\n").length, 6);
    }
  }
});
