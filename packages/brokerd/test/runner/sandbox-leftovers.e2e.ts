/** What becomes of boxes when brokerd is killed, and of boxes that take too much. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import type { RunOutcome } from "../../src/runner/runtime.ts";
import { decideCall } from "./decisions.ts";
import { SANDBOXES } from "./sandboxes.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { untilGone, untilThere } from "./waiting.ts";

for (const sandbox of SANDBOXES) {
  test(`nothing of ${sandbox.name} is left after a kill -9 and the next start`, { skip: sandbox.skip }, async () => {
    using home = temporaryFolder();
    using folder = temporaryFolder();
    const marker = `1000.${Number.parseInt(randomBytes(4).toString("hex"), 16)}`;
    const command = `: > ${folder.at("started")}; sleep ${marker}`;
    const program = join(import.meta.dirname, "holder-program.ts");
    const holder = spawn(process.execPath, [program, sandbox.name, home.path, folder.path, command], { stdio: "inherit" });
    const exited = once(holder, "exit");
    await Promise.race([untilThere(folder, "started"), exited]);
    assert.equal(holder.kill("SIGKILL"), true);
    await exited;
    const opening = await sandbox.open(home.path);
    assert.ok(opening.kind === "ready");
    await using runtime = opening.runtime;
    if (sandbox.name === "podman") assert.ok(opening.notices.includes("removed 1 containers that an earlier brokerd left"));
    await untilGone(marker);
    assert.equal(runtime.name, sandbox.name);
  });
}

const [podman] = SANDBOXES;

test("podman's boxes are held to their memory and process limits", {
  skip: podman?.skip || (process.getuid?.() !== 0 && "needs root, where limits hold on every machine"),
}, async () => {
  assert.ok(podman !== undefined);
  using home = temporaryFolder();
  using folder = temporaryFolder();
  const opening = await podman.open(home.path, { memory: "128m", pids: 40 });
  assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
  await using runtime = opening.runtime;
  const run = (command: string): Promise<RunOutcome> => {
    const decision = decideCall(runtime, { tool: "shell", arguments: { command }, paths: [folder.path] });
    return runtime.run(buildRunSpec(decision), { signal: new AbortController().signal });
  };
  const many = await run("for i in $(seq 100); do sleep 1 & done; echo end");
  assert.ok(many.kind === "done" && /Cannot fork/u.test(many.content), JSON.stringify(many));
  const big = await run(`${podman.node} -e 'const kept = []; for (;;) kept.push(Buffer.alloc(10_000_000, 1))'; echo end`);
  const killed = big.kind === "error" ? big.code === "killed" : /Killed/u.test(big.content);
  assert.ok(killed, JSON.stringify(big));
});
