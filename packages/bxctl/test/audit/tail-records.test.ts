import assert from "node:assert/strict";
import { appendFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FilterFlags } from "../../src/audit/audit-command.ts";
import { tailRecords } from "../../src/audit/tail-records.ts";
import { Screen } from "../../src/terminal/screen.ts";
import { AuditFolder, answered, decided, hashOf, opened, STARTED } from "../support/audit-folder.ts";
import { findUnsafe } from "../support/corpus.ts";
import { MemoryStream } from "../support/memory-stream.ts";

/** A stream that tells when something was written. */
class TellingStream extends MemoryStream {
  #wake: () => void = () => undefined;

  override write(text: string): boolean {
    super.write(text);
    this.#wake();
    return true;
  }

  async shows(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

interface Tail extends AsyncDisposable {
  readonly out: TellingStream;
  readonly err: TellingStream;
  readonly status: Promise<number>;
  readonly stop: () => void;
}

function tail(directory: string, flags: FilterFlags = {}): Tail {
  const out = new TellingStream();
  const err = new TellingStream();
  const stop = new AbortController();
  const command = { directory, out: new Screen(out, {}), err: new Screen(err, {}), json: false };
  const status = tailRecords(command, flags, stop.signal);
  return {
    out,
    err,
    status,
    stop: () => stop.abort(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await status;
    },
  };
}

test("tail shows the last records and then each new one, until it is interrupted", async () => {
  using folder = new AuditFolder().add(STARTED, opened("a"));
  for (let call = 1; call <= 12; call++) folder.add(decided("a", call, "denied"));
  await using running = tail(folder.path);
  await running.out.shows(/ 14 {2}denied/u);
  assert.match(running.out.text, /^\S+ \S+ \S+ {2}5 {2}denied/u);
  folder.add(decided("a", 13, "ask"));
  await running.out.shows(/ 15 {2}ask read_file/u);
  folder.add(answered(15, "refused"));
  await running.out.shows(/ 16 {2}refused by bxctl: decision 15\n/u);
  running.stop();
  assert.equal(await running.status, 0);
  assert.equal(running.err.text, "");
});

test("a record that is written in pieces is shown when it is whole", async () => {
  using folder = new AuditFolder().add(STARTED);
  await using running = tail(folder.path);
  await running.out.shows(/ 1 {2}brokerd/u);
  const line = folder.line(opened("a"));
  appendFileSync(folder.file, line.slice(0, 50));
  appendFileSync(folder.file, `${line.slice(50)}\n`);
  await running.out.shows(/ 2 {2}session a opened/u);
  assert.equal(running.err.text, "");
});

test("tail goes on in the next day's file", async () => {
  using folder = new AuditFolder().add(STARTED);
  await using running = tail(folder.path);
  await running.out.shows(/ 1 {2}brokerd/u);
  folder.day("2026-01-06").add(opened("a")).day("2026-01-07").add(opened("b"));
  await running.out.shows(/ 3 {2}session b opened/u);
  assert.match(running.out.text, / 2 {2}session a opened/u);
  folder.add({ kind: "stopped" });
  await running.out.shows(/ 4 {2}brokerd stopped/u);
  assert.equal(running.err.text, "");
});

test("tail waits for the first record of an empty log", async () => {
  using folder = new AuditFolder();
  await using running = tail(folder.path);
  folder.add(STARTED);
  await running.out.shows(/ 1 {2}brokerd/u);
});

test("filters hold, also for answers to calls of the day before", async () => {
  using folder = new AuditFolder()
    .add(opened("a"), decided("a", 1, "ask"))
    .day("2026-01-06")
    .add(STARTED);
  await using running = tail(folder.path, { session: "a" });
  await running.out.shows(/ 2 {2}ask/u);
  folder.add(opened("b"), answered(2, "refused"));
  await running.out.shows(/ 5 {2}refused/u);
  assert.doesNotMatch(running.out.text, /session b|brokerd/u);
});

test("a line that is no record, and a record that doesn't follow, are told of and don't end it", async () => {
  using folder = new AuditFolder().add(STARTED);
  await using running = tail(folder.path);
  await running.out.shows(/ 1 {2}brokerd/u);
  appendFileSync(folder.file, "\u001b[2J\n");
  await running.err.shows(/a line that is no record.+#audit-broken\n/u);
  const foreign = new AuditFolder(folder.path);
  foreign.seq = 6;
  foreign.add({ kind: "stopped" });
  await running.out.shows(/ 7 {2}brokerd stopped/u);
  assert.match(running.err.text, /record 7 doesn't follow from the one before it/u);
  assert.equal(findUnsafe(running.err.text), undefined);
});

test("a recovery may take the record before it out of the chain", async () => {
  using folder = new AuditFolder().add(STARTED);
  await using running = tail(folder.path);
  await running.out.shows(/ 1 {2}brokerd/u);
  const torn = folder.line(opened("a"));
  appendFileSync(folder.file, `${torn}\n`);
  folder.add({ kind: "recovery", file: "2026-01-05.jsonl", offset: 0, bytes: torn.length, sha256: hashOf(torn) }, opened("b"));
  await running.out.shows(/ 3 {2}session b/u);
  assert.equal(running.err.text, "");
});

test("a log that becomes shorter, or goes away, ends it with one line and a pointer", async () => {
  for (const spoil of [(file: string) => truncateSync(file, 10), (file: string) => rmSync(file)]) {
    using folder = new AuditFolder().add(STARTED);
    await using running = tail(folder.path);
    await running.out.shows(/ 1 {2}brokerd/u);
    spoil(folder.file);
    assert.equal(await running.status, 1);
    assert.match(
      running.err.text,
      /^bxctl: the audit log in ".+" can't be followed: .+ (became shorter|is gone); see docs\/runbook\.md#audit-directory\n$/u,
    );
  }
});

test("a missing directory is status 1, flags that aren't understood are status 2", async () => {
  using folder = new AuditFolder();
  await using missing = tail(join(folder.path, "missing"));
  assert.equal(await missing.status, 1);
  await using usage = tail(folder.path, { since: "soon" });
  assert.equal(await usage.status, 2);
});
