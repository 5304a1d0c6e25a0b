import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test("gatewayd says in one line that it isn't built yet, points into the runbook, and ends with 1", () => {
  const run = spawnSync(process.execPath, [MAIN], { encoding: "utf8" });
  assert.equal(run.status, 1);
  assert.equal(run.stdout, "");
  assert.equal(
    run.stderr,
    "gatewayd: isn't built yet, chat in a terminal with bxctl instead; see docs/runbook.md#gateway-not-built\n",
  );
});
