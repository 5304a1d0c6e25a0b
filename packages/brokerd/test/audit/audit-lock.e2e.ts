/** The lock against other processes: held while its holder lives, free the moment it doesn't, and by nothing else. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import type { AbsPath } from "@boxmaker/proto";
import { openLog, refusedLog, TempDirectory } from "./audit-fixture.ts";

const PROGRAM = new URL("holder-program.ts", import.meta.url).pathname;

/** A process that holds the log, and the child that it has started. */
class Holder implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #childId: number;

  private constructor(holder: ChildProcess, childId: number) {
    this.#process = holder;
    this.#childId = childId;
  }

  static async start(directory: AbsPath): Promise<Holder> {
    const holder = spawn(process.execPath, [PROGRAM, directory], { stdio: ["pipe", "pipe", "inherit"] });
    for await (const line of createInterface(holder.stdout)) {
      const childId = /^opened (?<id>\d+)$/u.exec(line)?.groups?.["id"];
      assert(childId !== undefined, line);
      return new Holder(holder, Number(childId));
    }
    throw new Error("the holder ended without a word");
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(name);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exit;
  }

  isChildAlive(): boolean {
    return process.kill(this.#childId, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    process.kill(this.#childId, "SIGKILL");
  }
}

test("a log that another process holds is refused, and free at once after kill -9, though the holder's child lives on", async () => {
  using home = new TempDirectory();
  await using holder = await Holder.start(home.audit);
  assert.match(await refusedLog(home.audit), /#audit-locked$/u);
  await holder.kill();
  assert.ok(holder.isChildAlive());
  await using opened = await openLog(home.audit);
  assert.equal(opened.log.head, 0);
});

test("a holder that is stopped keeps its lock", async () => {
  using home = new TempDirectory();
  await using holder = await Holder.start(home.audit);
  holder.signal("SIGSTOP");
  assert.match(await refusedLog(home.audit), /#audit-locked$/u);
  holder.signal("SIGCONT");
});

test("no file of the directory is the lock: reading, adding and deleting them changes nothing", async () => {
  using home = new TempDirectory();
  await using _holder = await Holder.start(home.audit);
  writeFileSync(home.file(".lock"), "");
  for (const name of readdirSync(home.audit)) {
    if (name !== "blobs" && name !== "grants") readFileSync(home.file(name));
    rmSync(home.file(name), { recursive: true });
  }
  assert.match(await refusedLog(home.audit), /#audit-locked$/u);
});

test("a process that opens the log after another was refused holds it alone", async () => {
  using home = new TempDirectory();
  {
    await using opened = await openLog(home.audit);
    assert.match(await refusedLog(home.audit), /#audit-locked$/u);
    assert.equal(opened.log.stopped, false);
  }
  await using _holder = await Holder.start(home.audit);
  assert.match(await refusedLog(home.audit), /#audit-locked$/u);
});
