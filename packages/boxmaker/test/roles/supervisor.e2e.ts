/** The supervisor with real processes: small scripts in the place of roles. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "@boxmaker/edge/log";
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

/** Boxes that run, an answer that nobody reads, and what brokerd allows itself beyond them, by its defaults. */
const LONGEST_STOP_MS = 5_000 + 10_000 + 10_000;

test("stop() ends a role that ignores SIGTERM no later than its grace, which is longer than brokerd needs, and says so", async () => {
  const { supervisor, said } = watched();
  const grace = new Map<() => void, number>();
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        grace.set(resolve, ms);
        signal.addEventListener("abort", () => reject(new Error("cancelled")), { once: true });
      }),
  };
  const stubborn = new Supervisor({ clock, say: (line) => said.push(line), onLine: () => undefined });
  await stubborn.start("role", script('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("role: ready");'));
  const stopped = stubborn.stop();
  assert.ok((Array.from(grace.values()).at(-1) ?? 0) > LONGEST_STOP_MS);
  for (const pass of grace.keys()) pass();
  await stopped;
  assert.match(said.at(-1) ?? "", /role did not end cleanly \(killed by SIGKILL\)/u);
  await supervisor.stop();
});

/** A clock whose pauses pass at once and are written down. It is looked at when a role is ready and when that one has ended. */
function hurriedClock(waits: number[], upFor: (life: number) => number): Clock {
  let looks = 0;
  let now = 0;
  return {
    now: () => now,
    monotonic: () => {
      looks += 1;
      if (looks % 2 === 0) now += upFor(looks / 2);
      return now;
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        // What isn't a pause between two starts is a deadline, which isn't to pass.
        if (ms > 10_000) signal.addEventListener("abort", () => reject(new Error("ended")), { once: true });
        else {
          waits.push(ms);
          resolve();
        }
      }),
  };
}

test("a role that dies as soon as it is ready is started again with growing pauses; one that was up for a minute begins anew", async () => {
  const waits: number[] = [];
  const enough = Promise.withResolvers<void>();
  let starts = 0;
  const supervisor = new Supervisor({
    clock: hurriedClock(waits, (life) => (life === 9 ? 60_000 : 59_999)),
    say: () => undefined,
    onLine: () => {
      starts += 1;
      if (starts === 11) enough.resolve();
    },
  });
  await supervisor.start("role", script('console.log("role: ready"); setTimeout(() => process.exit(1), 20);'));
  await enough.promise;
  supervisor.startNoMore();
  await supervisor.stop();
  assert.deepEqual(waits.slice(0, 10), [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 250, 500]);
});

test("startNoMore() ends a role that isn't ready yet, and starts no other", async () => {
  const { supervisor, line, lines } = watched();
  const slow = supervisor.start("role", script('setInterval(() => {}, 1000); console.log("role: so far");'));
  await line(/so far/u);
  supervisor.startNoMore();
  const problem = "role was told to end before it was ready; see docs/runbook.md#role-ended";
  assert.deepEqual(await slow, { kind: "failed", problem, exit: { code: null, signal: "SIGTERM" } });
  assert.deepEqual(await supervisor.start("other", script(READY)), {
    kind: "failed",
    problem: problem.replace("role", "other"),
    exit: undefined,
  });
  await supervisor.stop();
  assert.deepEqual(lines, ["role: so far"]);
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
