/** The owner's command that carries checkpoints off the machine: it gets each one, and nothing waits for it or stops because of it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { CheckpointCommand } from "../../src/audit/checkpoint-command.ts";
import { TempDirectory } from "./audit-fixture.ts";
import { checkpointIn, openSigned } from "./checkpoint-fixture.ts";

const NOTE = "2026-11-29.1.note";

function script(temp: TempDirectory, text: string): string {
  const path = join(temp.path, "carry");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(10);
}

test("the command gets the checkpoint on standard input, with its arguments, and little of the environment", async () => {
  using temp = new TempDirectory();
  const warnings: string[] = [];
  const program = script(temp, `cat >"$1"; env >"$1.env"`);
  const out = join(temp.path, "carried");
  const command = new CheckpointCommand({ words: [program, out], warn: (line) => warnings.push(line) });
  {
    await using signed = await openSigned(temp, { command });
    await signed.append(3);
  }
  assert.equal(readFileSync(out, "utf8"), temp.text(`checkpoints/${NOTE}`));
  assert.deepEqual(warnings, []);
  const names = readFileSync(`${out}.env`, "utf8")
    .split("\n")
    .map((line) => line.split("=")[0]);
  assert.ok(!names.includes("HOME"), names.join(" "));
});

test("the command gets the checkpoint also where the list of public keys can't be written", async () => {
  using temp = new TempDirectory();
  const out = join(temp.path, "carried");
  const command = new CheckpointCommand({ words: [script(temp, `cat >"$1"`), out], warn: assert.fail });
  mkdirSync(temp.file("checkpoints"), { recursive: true });
  symlinkSync("/nowhere", temp.file("checkpoints/keys"));
  await using signed = await openSigned(temp, { command });
  await signed.append(3);
  await signed.checkpoints[Symbol.asyncDispose]();
  assert.equal(readFileSync(out, "utf8"), temp.text(`checkpoints/${NOTE}`));
  assert.match(signed.warnings.join("\n"), /^cannot write a checkpoint of the audit log: .*#checkpoint-unwritten$/u);
});

test("of checkpoints that come while it runs, it gets the newest", async () => {
  using temp = new TempDirectory();
  const program = script(temp, `while [ ! -e "$1.go" ]; do sleep 0.02; done; cat >>"$1"; echo -- >>"$1"`);
  const out = join(temp.path, "carried");
  const command = new CheckpointCommand({ words: [program, out], warn: assert.fail });
  for (const note of ["one\n", "two\n", "three\n"]) command.carry(note);
  writeFileSync(`${out}.go`, "");
  await command[Symbol.asyncDispose]();
  assert.equal(readFileSync(out, "utf8"), "one\n--\nthree\n--\n");
});

const FAILURES: readonly (readonly [name: string, text: string | undefined, problem: RegExp])[] = [
  [
    "ends with a status",
    "echo 'no \x1b[31mroute' >&2; exit 3",
    /ended with status 3: no \\u001b\[31mroute; records go on; see docs\/runbook\.md#checkpoint-command$/u,
  ],
  ["is killed", "kill -9 $$", /ended with SIGKILL;/u],
  ["takes too long", "sleep 60", /was stopped after 300 ms;/u],
  ["isn't there", undefined, /can't be started \(spawn .* ENOENT\);/u],
];

for (const [name, text, problem] of FAILURES) {
  test(`a command that ${name} is one warning until it succeeds again, and checkpoints go on`, async () => {
    using temp = new TempDirectory();
    const warnings: string[] = [];
    const program = text === undefined ? join(temp.path, "missing") : script(temp, text);
    const command = new CheckpointCommand({ words: [program], deadlineMs: 300, warn: (line) => warnings.push(line) });
    await using signed = await openSigned(temp, { command });
    await signed.append(1);
    await signed.checkpoints.write();
    await until(() => warnings.length > 0);
    await signed.append(1);
    await signed.checkpoints.write();
    assert.equal(checkpointIn(temp, NOTE).checkpoint.size, 2);
    await signed.checkpoints[Symbol.asyncDispose]();
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", problem);
    assert.ok(warnings[0]?.startsWith(`the checkpoint command "${program}" `));
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // No such process.
    return false;
  }
}

test("what a stopped command has started is ended with it", async () => {
  using temp = new TempDirectory();
  const warnings: string[] = [];
  const mark = join(temp.path, "mark");
  const words = [script(temp, `sleep 600 & echo $! >"$1"; wait`), mark] as const;
  const command = new CheckpointCommand({ words, deadlineMs: 3000, warn: (line) => warnings.push(line) });
  command.carry("note\n");
  await command[Symbol.asyncDispose]();
  assert.equal(warnings.length, 1);
  const pid = Number(readFileSync(mark, "utf8"));
  assert.ok(pid > 1);
  await until(() => !isAlive(pid));
});

test("a command that doesn't read all of it is no failure", async () => {
  const command = new CheckpointCommand({ words: ["/bin/true"], warn: assert.fail });
  command.carry("x".repeat(200_000));
  await command[Symbol.asyncDispose]();
});

test("a command that can't be started for its long arguments, or for want of descriptors, is a warning", async () => {
  const warnings: string[] = [];
  const command = new CheckpointCommand({ words: ["/bin/true", "x".repeat(200_000)], warn: (line) => warnings.push(line) });
  command.carry("note\n");
  await command[Symbol.asyncDispose]();
  assert.match(warnings.join("\n"), /^the checkpoint command "\/bin\/true" can't be started \(spawn E2BIG\); records go on;/u);
  const program = new URL("command-program.ts", import.meta.url).pathname;
  const run = spawnSync("/bin/sh", ["-c", 'ulimit -n 64; exec "$0" "$1"', process.execPath, program], { encoding: "utf8" });
  assert.equal(run.stderr, "");
  assert.match(run.stdout, /^the checkpoint command "\/bin\/true" can't be started \(spawn \/bin\/true EMFILE\); [^\n]+\ndone\n$/u);
});
