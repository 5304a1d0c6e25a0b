/** Verifying while another process writes: never a false alarm. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { verifyAudit } from "../../packages/bxctl/src/audit/verify-audit.ts";

const WRITER = new URL("../../packages/brokerd/test/audit/writer-program.ts", import.meta.url).pathname;
const APPENDS = 1000;

test("verify finds a log sound at any moment while it is being written, day after day", async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-live-")));
  try {
    const audit = join(home, "audit");
    mkdirSync(audit, { mode: 0o700 });
    const writer = spawn(process.execPath, [WRITER, audit, "0", String(APPENDS)], { stdio: ["ignore", "ignore", "inherit"] });
    const ended = once(writer, "exit");
    const counts: number[] = [];
    while (counts.at(-1) !== APPENDS) {
      let text = "";
      const status = await verifyAudit(audit, { write: (part) => (text += part) });
      assert.equal(status, 0, text);
      counts.push(Number(/^audit: ok, (?<count>\d+) records$/mu.exec(text)?.groups?.["count"]));
      if (writer.exitCode !== null) break;
    }
    await ended;
    assert.equal(writer.exitCode, 0);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    );
    let last = "";
    assert.equal(await verifyAudit(audit, { write: (part) => (last += part) }), 0);
    assert.ok(last.startsWith(`audit: ok, ${APPENDS} records\n`), last);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
