/**
 * System calls that fail, and a process that dies at them, at every step of making a key and writing checkpoints: records go on, and the
 * next start takes the log and its checkpoints as they are.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TempDirectory } from "./audit-fixture.ts";
import { checkpointIn, keysOf, openSigned, runSigned } from "./checkpoint-fixture.ts";
import { skipTraced } from "./traced-run.ts";

const PROGRAM = new URL("checkpoint-program.ts", import.meta.url).pathname;
const NOTE = "2026-11-29.1.note";
const MAX_RUNS = 40;
const DEADLINE_MS = 60_000;

interface Run {
  readonly lines: readonly string[];
  readonly isHit: boolean;
}

/** Every path of keys and checkpoints that the program touches, and none of the log. */
function pathsIn(temp: TempDirectory): readonly string[] {
  const keys = ["", "checkpoint.key", "checkpoint.key.new", "checkpoint-old.key"].map((name) => join(keysOf(temp), name));
  const files = [NOTE, "newest.json", "keys"].flatMap((name) => [name, `.${name}.new`]);
  return [...keys, temp.file("checkpoints"), ...files.map((name) => temp.file(`checkpoints/${name}`))];
}

function runTraced(temp: TempDirectory, calls: string, fault: string): Run {
  const traceFile = join(temp.path, "trace");
  const paths = pathsIn(temp).flatMap((path) => ["-P", path]);
  const tracing = ["-f", "-o", traceFile, ...paths, "-e", `trace=${calls}`, "-e", `inject=${calls}:${fault}`];
  const run = spawnSync("strace", [...tracing, process.execPath, PROGRAM, temp.audit, keysOf(temp)], {
    encoding: "utf8",
    env: { ...process.env, UV_THREADPOOL_SIZE: "1" },
    timeout: DEADLINE_MS,
  });
  const trace = readFileSync(traceFile, "utf8");
  const isHit = trace.includes("(INJECTED)") || trace.includes("killed by SIGKILL");
  return { lines: run.stdout.split("\n").slice(0, -1), isHit };
}

/** What was acknowledged is there, the next start goes on, and its checkpoint covers all of it. */
async function checkAfter(temp: TempDirectory, { lines }: Run): Promise<void> {
  for (const line of lines) {
    assert.match(line, /^(?:durable \d+|done|(?:refused|warned) .+; see docs\/runbook\.md#[a-z-]+)$/u);
  }
  const durable = lines.filter((line) => line.startsWith("durable")).length;
  assert.deepEqual(await runSigned(temp, 1), []);
  const { size } = checkpointIn(temp, NOTE).checkpoint;
  assert.ok(size >= durable + 1, `${size} records are signed of ${durable + 1}`);
  assert.deepEqual(readdirSync(keysOf(temp)), ["checkpoint.key"]);
  // And again, without what was kept in memory.
  await using again = await openSigned(temp);
  assert.equal(again.log.head, size);
}

const FAULTS: readonly (readonly [calls: string, fault: string])[] = [
  ["write,pwrite64", "error=ENOSPC"],
  ["write,pwrite64", "signal=KILL"],
  ["fsync", "error=EIO"],
  ["fsync", "signal=KILL"],
  ["openat", "error=ENOSPC"],
  ["openat", "signal=KILL"],
  ["?rename,renameat,renameat2", "error=ENOSPC"],
  ["?rename,renameat,renameat2", "signal=KILL"],
  ["?mkdir,mkdirat", "error=ENOSPC"],
  ["?mkdir,mkdirat", "signal=KILL"],
];

for (const [calls, fault] of FAULTS) {
  // What fails comes to the same in every life; what dies leaves another state behind.
  const lives = fault.startsWith("error") || calls.includes("mkdir") ? (["first"] as const) : (["first", "second"] as const);
  for (const life of lives) {
    test(`${calls} with ${fault} at any point of a ${life} life loses no record, and the next start goes on`, {
      skip: skipTraced,
    }, async () => {
      let runs = 0;
      for (; runs < MAX_RUNS; runs++) {
        using temp = new TempDirectory();
        if (life === "second") await runSigned(temp, 2);
        const run = runTraced(temp, calls, `${fault}:when=${runs + 1}`);
        const isError = fault.startsWith("error");
        const isRefused = run.lines.some((line) => line.startsWith("refused"));
        // A checkpoint that fails is a warning: the records are written as ever.
        if (isError && !isRefused) assert.ok(run.lines.includes("done"), run.lines.join("\n"));
        await checkAfter(temp, run);
        if (!run.isHit) break;
      }
      assert.ok(runs < MAX_RUNS, `${runs} points were hit`);
      if (life === "first") assert.ok(runs >= 1, "no point was hit");
    });
  }
}
