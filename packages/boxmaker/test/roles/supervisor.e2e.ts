/** The supervisor with real processes: small scripts in the place of roles. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@boxmaker/edge/log";
import type { Program } from "../../src/roles/role-program.ts";
import { Supervisor } from "../../src/roles/supervisor.ts";

function script(source: string): Program {
  return { command: process.execPath, args: ["-e", source], env: {} };
}

const READY = 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000); console.log("role: ready at 7");';

interface Watched {
  readonly supervisor: Supervisor;
  readonly said: string[];
  /** Resolves when a line of the role `name` matches. */
  readonly line: (pattern: RegExp) => Promise<string>;
  readonly lines: string[];
}

function watched(): Watched {
  const said: string[] = [];
  const lines: string[] = [];
  const waiting = new Set<{ readonly pattern: RegExp; readonly resolve: (line: string) => void }>();
  const supervisor = new Supervisor({
    clock: systemClock,
    say: (line) => said.push(line),
    onLine: (_name, line) => {
      lines.push(line);
      for (const wait of waiting) if (wait.pattern.test(line)) wait.resolve(line);
    },
  });
  const line = (pattern: RegExp): Promise<string> =>
    new Promise((resolve) => {
      waiting.add({ pattern, resolve });
    });
  return { supervisor, said, line, lines };
}

function pidOf(supervisor: Supervisor): number {
  const pid = supervisor.pids.get("role");
  if (pid === undefined) throw new Error("expected a running role");
  return pid;
}

test("a role that refuses is reported with its own last line, and one that only dies with how it ended", async () => {
  const { supervisor } = watched();
  const refusing = await supervisor.start(
    "role",
    script('console.error("role: can\'t; see x"); console.error("noise"); process.exitCode = 1;'),
  );
  assert.deepEqual(refusing, { kind: "failed", problem: "role: can't; see x", exit: { code: 1, signal: null } });
  const dying = await supervisor.start("role", script('console.error("stack"); process.kill(process.pid, "SIGKILL");'));
  assert.ok(dying.kind === "failed");
  assert.match(dying.problem, /^role ended \(killed by SIGKILL\) before it was ready; see docs\/runbook\.md#role-ended$/u);
  const missing = await supervisor.start("role", { command: "/does/not/exist", args: [], env: {} });
  assert.ok(missing.kind === "failed");
  assert.match(missing.problem, /^role can't be started: .*; see docs\/runbook\.md#role-ended$/u);
  await supervisor.stop();
});

test("a role that is killed is said and started again, as what it is told to be", async () => {
  const { supervisor, said, line } = watched();
  const again = script(READY.replace("ready at 7", "ready again"));
  const started = await supervisor.start("role", script(READY), (readyLine) => {
    assert.equal(readyLine, "role: ready at 7");
    return again;
  });
  assert.deepEqual(started, { kind: "ready", line: "role: ready at 7" });
  const next = line(/ready again/u);
  process.kill(pidOf(supervisor), "SIGKILL");
  await next;
  assert.deepEqual(said, ["role ended (killed by SIGKILL) and is started again; see docs/runbook.md#role-ended"]);
  await supervisor.stop();
  assert.equal(said.length, 1, "a clean stop says nothing");
});

test("stop() ends a role that ignores SIGTERM no later than its grace, and says so", async () => {
  const { supervisor, said } = watched();
  const grace = new Set<() => void>();
  const clock = {
    ...systemClock,
    sleep: (_ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        grace.add(resolve);
        signal.addEventListener("abort", () => reject(new Error("cancelled")), { once: true });
      }),
  };
  const stubborn = new Supervisor({ clock, say: (line) => said.push(line), onLine: () => undefined });
  await stubborn.start("role", script('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("role: ready");'));
  const stopped = stubborn.stop();
  for (const pass of grace) pass();
  await stopped;
  assert.match(said.at(-1) ?? "", /role did not end cleanly \(killed by SIGKILL\)/u);
  await supervisor.stop();
});

test("stop() while a role waits to be started again starts nothing", async () => {
  const { supervisor, said, lines } = watched();
  await supervisor.start("role", script(READY));
  const pid = pidOf(supervisor);
  process.kill(pid, "SIGKILL");
  while (said.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await supervisor.stop();
  assert.equal(lines.length, 1);
});
