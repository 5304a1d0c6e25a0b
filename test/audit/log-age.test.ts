/** How old a signed log is, and on which days nobody signed it: what bxctl says of a log that is whole. */
import assert from "node:assert/strict";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TempDirectory } from "../../packages/brokerd/test/audit/audit-fixture.ts";
import { runSigned } from "../../packages/brokerd/test/audit/checkpoint-fixture.ts";
import type { AuditCommand } from "../../packages/bxctl/src/audit/audit-command.ts";
import { runVerify, type VerifyFlags } from "../../packages/bxctl/src/audit/run-verify.ts";
import { showKey } from "../../packages/bxctl/src/audit/show-checkpoint.ts";
import { memoryScreen } from "../../packages/bxctl/test/support/memory-stream.ts";

const LOG = "2026-11-29.jsonl";
const NOTE = "2026-11-29.1.note";

async function run(temp: TempDirectory, command: (command: AuditCommand) => Promise<number>, json = false) {
  const [out, err] = [memoryScreen(), memoryScreen()];
  const status = await command({ directory: temp.audit, out: out.screen, err: err.screen, json });
  return { status, out: out.stream.text, err: err.stream.text };
}

function verify(temp: TempDirectory, flags: VerifyFlags = {}, json = false) {
  return run(temp, (command) => runVerify(command, flags), json);
}

test("--max-age tells a log that is whole and older than that, and nothing of one that isn't", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  const key = [(await run(temp, showKey)).out.trim()];
  const { status, out } = await verify(temp, { key, maxAge: "9999-12-31" });
  assert.equal(status, 1);
  assert.match(
    out,
    /^audit: stale: the log is whole, but expected .+, found the last record of 2026-11-29T\S+Z and the last checkpoint of 2026-11-29; the records of the given checkpoint are all there; see docs\/runbook\.md#audit-stale\n$/u,
  );
  const json = JSON.parse((await verify(temp, { maxAge: "9999-12-31" }, true)).out) as { readonly status: string };
  assert.equal(json.status, "stale");
  const fresh = await verify(temp, { maxAge: "2026-11-29T00:00Z" });
  assert.equal(fresh.status, 0, fresh.out);
  const wrong = await verify(temp, { maxAge: "soon\u202e" });
  assert.deepEqual([wrong.status, wrong.out], [2, ""]);
  assert.match(wrong.err, /^bxctl: --max-age: "soon\\u202e" is no time: .+\n$/u);
  writeFileSync(temp.file(LOG), temp.text(LOG).slice(temp.text(LOG).indexOf("\n") + 1));
  assert.match((await verify(temp, { maxAge: "9999-12-31" })).out, /^audit: broken: /u);
});

test("verify lists days without a checkpoint between those that have one", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  assert.doesNotMatch((await verify(temp)).out, /without a checkpoint/u);
  const folder = temp.file("checkpoints");
  for (const day of ["2026-11-26", "2026-11-27"]) copyFileSync(join(folder, NOTE), join(folder, `${day}.1.note`));
  const { status, out } = await verify(temp);
  assert.equal(status, 0, out);
  assert.match(out, /^days without a checkpoint: 1\n {2}2026-11-28: brokerd didn't run, or they were taken away\n/mu);
  writeFileSync(temp.file("2026-11-28.jsonl"), "");
  assert.match((await verify(temp)).out, /^ {2}2026-11-28: brokerd didn't run, or they were taken away\n/mu);
  const { gaps } = JSON.parse((await verify(temp, {}, true)).out) as { readonly gaps: unknown };
  assert.deepEqual(gaps, { total: 1, first: [{ from: "2026-11-28", to: "2026-11-28", withRecords: 0 }] });
});
