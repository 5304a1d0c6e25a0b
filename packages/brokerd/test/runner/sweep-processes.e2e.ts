import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { markOf } from "../../src/runner/bubblewrap/bubblewrap-arguments.ts";
import { sweepProcesses } from "../../src/runner/bubblewrap/sweep-processes.ts";

test("sweepProcesses() kills the processes with the mark of this brokerd, whatever signals they ignore, and no others", async () => {
  const [ours, others] = [randomBytes(6).toString("hex"), randomBytes(6).toString("hex")];
  const start = (instance: string): ReturnType<typeof spawn> => {
    const script = "trap : TERM INT HUP; echo started; while :; do sleep 1; done";
    const args = ["-c", script, "sh", "--setenv", "BOXMAKER", instance, "--clearenv", "more"];
    return spawn("/bin/sh", args, { stdio: ["ignore", "pipe", "inherit"] });
  };
  const [left, other] = [start(ours), start(others)];
  for (const { stdout } of [left, other]) if (stdout !== null) await once(stdout, "data");
  const exited = once(left, "exit");
  assert.equal(await sweepProcesses(markOf(ours)), 1);
  assert.deepEqual(await exited, [null, "SIGKILL"]);
  assert.equal(other.exitCode, null);
  assert.equal(other.signalCode, null);
  const ended = once(other, "exit");
  other.kill("SIGKILL");
  await ended;
  assert.equal(await sweepProcesses(markOf(ours)), 0);
});
