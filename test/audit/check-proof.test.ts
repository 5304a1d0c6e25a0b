/** What bxctl shows of one record to somebody who hasn't got the log, bxctl checks there: with the key, the proof and that record's line. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TempDirectory } from "../../packages/brokerd/test/audit/audit-fixture.ts";
import { runSigned } from "../../packages/brokerd/test/audit/checkpoint-fixture.ts";
import type { AuditCommand } from "../../packages/bxctl/src/audit/audit-command.ts";
import { checkProof } from "../../packages/bxctl/src/audit/check-proof.ts";
import { proveRecord } from "../../packages/bxctl/src/audit/prove-record.ts";
import { showKey } from "../../packages/bxctl/src/audit/show-checkpoint.ts";
import { findUnsafe } from "../../packages/bxctl/test/support/corpus.ts";
import { memoryScreen } from "../../packages/bxctl/test/support/memory-stream.ts";

const LOG = "2026-11-29.jsonl";
const SEQ = 3;

async function run(directory: string, command: (command: AuditCommand) => Promise<number>, json = false) {
  const [out, err] = [memoryScreen(), memoryScreen()];
  const status = await command({ directory, out: out.screen, err: err.screen, json });
  return { status, out: out.stream.text, err: err.stream.text };
}

/** A signed log's proof of one record, that record's line and another one's, in files of their own. */
class Kept implements Disposable {
  readonly #temp = new TempDirectory();
  readonly proof = join(this.#temp.path, "3.tlog-proof");
  readonly record = join(this.#temp.path, "3.json");
  readonly other = join(this.#temp.path, "4.json");
  key = "";

  static async make(): Promise<Kept> {
    const kept = new Kept();
    const temp = kept.#temp;
    await runSigned(temp, 7);
    writeFileSync(kept.proof, (await run(temp.audit, (command) => proveRecord(command, String(SEQ)))).out);
    const [line = "", next = ""] = temp
      .text(LOG)
      .split("\n")
      .slice(SEQ - 1);
    writeFileSync(kept.record, `${line}\n`);
    writeFileSync(kept.other, `${next}\n`);
    kept.key = (await run(temp.audit, showKey)).out.trim();
    return kept;
  }

  check(changes: { readonly proof?: string; readonly record?: string; readonly key?: readonly string[] } = {}, json = false) {
    const { proof, record, key } = this;
    return run("/nonexistent", (command) => checkProof(command, { proof, record, key: [key], ...changes }), json);
  }

  [Symbol.dispose](): void {
    this.#temp[Symbol.dispose]();
  }
}

test("bxctl audit check-proof says in which log the record is, and who has signed that", async () => {
  using kept = await Kept.make();
  const [name = ""] = kept.key.split("+");
  const { status, out, err } = await kept.check();
  assert.deepEqual([status, err], [0, ""]);
  assert.match(out, /^proof: record 3 is in boxmaker\.local\/audit\/[0-9a-f]{32}, at index 2 of the 7 records of a checkpoint /u);
  assert.ok(out.includes(`signed by ${name}+`), out);
  const unsigned = await kept.check({ key: [] });
  assert.equal(unsigned.status, 0);
  assert.match(unsigned.out, /of a checkpoint whose signature wasn't checked \(no --key\)\n$/u);
  const { keys, ...json } = JSON.parse((await kept.check({}, true)).out) as { readonly keys: readonly string[] };
  assert.deepEqual(json, { status: "ok", seq: 3, index: 2, origin: name, size: 7 });
  assert.equal(keys.length, 1);
  // bxctl shows a record with escapes, where characters could steer a terminal.
  for (const change of [(text: string) => text.trimEnd(), (text: string) => text.replaceAll("session", "\\u0073ession")]) {
    writeFileSync(kept.record, change(readFileSync(kept.record, "utf8")));
    assert.equal((await kept.check()).status, 0);
  }
});

test("another record, a changed one, a changed proof and another key are refused", async () => {
  using kept = await Kept.make();
  const refused = async (changes: Parameters<Kept["check"]>[0], problem: RegExp): Promise<void> => {
    const { status, out, err } = await kept.check(changes);
    assert.deepEqual([status, out], [1, ""]);
    assert.match(err, problem);
    assert.match(err, /^bxctl: [^\n]+; see docs\/runbook\.md#proof-refused\n$/u);
    assert.equal(findUnsafe(err), undefined);
    const json = JSON.parse((await kept.check(changes, true)).out) as { readonly status: string };
    assert.equal(json.status, "refused");
  };
  await refused({ record: kept.other }, /the proof doesn't show this record, with seq 4, in the 7 records of its checkpoint/u);
  using another = await Kept.make();
  await refused({ key: [another.key] }, /the proof isn't signed by the given key: /u);
  await refused({ record: kept.proof }, /is no record of an audit log: /u);
  await refused({ proof: kept.record }, /is no proof: /u);
  const [proof, record] = [readFileSync(kept.proof, "utf8"), readFileSync(kept.record, "utf8")];
  writeFileSync(kept.record, record.replace(/"time":"20../u, '"time":"2999'));
  await refused({}, /doesn't show this record/u);
  writeFileSync(kept.record, `${record}${record}`);
  await refused({}, /is no record of an audit log/u);
  writeFileSync(kept.record, record);
  writeFileSync(kept.proof, proof.replace("\nindex 2\n", "\nindex 3\n"));
  await refused({}, /doesn't show this record/u);
  writeFileSync(kept.proof, proof.replace("\n7\n", "\n8\n"));
  await refused({}, /isn't signed by the given key/u);
});

test("files that can't be read and words that are no keys are status 2", async () => {
  using kept = await Kept.make();
  for (const changes of [{ proof: "/nonexistent/\u001b" }, { record: "/nonexistent/x" }, { key: ["no\u202e key"] }]) {
    const { status, out, err } = await kept.check(changes);
    assert.deepEqual([status, out], [2, ""]);
    assert.match(err, /^bxctl: [^\n]+\n$/u);
    assert.equal(findUnsafe(err), undefined);
  }
});
