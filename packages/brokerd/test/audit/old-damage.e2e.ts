/** Damage in files that a start doesn't read, because it begins at a saved state. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { Daemon } from "../support/daemon.ts";
import { BoxFiles } from "../support/rig.ts";
import { FakeClock, NO_BLOBS, openLog, startedEvent } from "./audit-fixture.ts";

const OLD_DAY = "2026-01-05.jsonl";
const DEADLINE_MS = 60_000;

async function run(files: BoxFiles): Promise<void> {
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  daemon.kill("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
}

test("a start from a saved state doesn't read an old file, and tells of damage in it when brokerd has looked", async () => {
  using files = new BoxFiles();
  {
    await using opened = await openLog(files.at("audit"), new FakeClock());
    for (let head = 0; head < 3; head++) await opened.log.append(startedEvent(head), NO_BLOBS).durable;
  }
  await run(files);
  const path = files.at(`audit/${OLD_DAY}`);
  writeFileSync(path, readFileSync(path, "utf8").replace("0.1.0", "0.9.0"));
  await using daemon = Daemon.serve(files);
  await daemon.ready;
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const { stderr } = daemon.child;
  assert(stderr !== null);
  while (!daemon.stderr.includes("#audit-broken")) await once(stderr, "data", { signal: deadline });
  assert.match(
    daemon.stderr,
    /the audit log is broken: .*2026-01-05\.jsonl.* line 2 .+ seq 1; see docs\/runbook\.md#audit-broken/u,
  );
  daemon.kill("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
});
