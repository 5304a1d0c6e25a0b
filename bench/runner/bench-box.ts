/** A runtime to measure, and the call that is made in it: a small file is read. */
import { writeFileSync } from "node:fs";
import { buildRunSpec } from "../../packages/brokerd/src/runner/run-spec.ts";
import { SandboxRuntime } from "../../packages/brokerd/src/runner/sandbox-runtime.ts";
import { decideCall } from "../../packages/brokerd/test/runner/decisions.ts";
import type { Sandbox } from "../../packages/brokerd/test/runner/sandboxes.ts";
import { type TemporaryFolder, temporaryFolder } from "../../packages/brokerd/test/runner/temporary-folder.ts";

const NEVER = new AbortController().signal;
const CONTENT = "hello";
/** What Node needs in a box whose mounts are in place, until it reads. */
const BOOT_MS = 300;

export type Call = "read_file" | "shell";

export class BenchBox implements AsyncDisposable {
  readonly home: TemporaryFolder;
  readonly folder: TemporaryFolder;
  readonly runtime: SandboxRuntime;

  private constructor(home: TemporaryFolder, folder: TemporaryFolder, runtime: SandboxRuntime) {
    this.home = home;
    this.folder = folder;
    this.runtime = runtime;
  }

  /** With room for one box that is started ahead. */
  static async open(sandbox: Sandbox): Promise<BenchBox> {
    const [home, folder] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(folder.at("note"), CONTENT);
    const opening = await sandbox.open(home.path, { pool: 1 });
    if (opening.kind === "refused") throw new Error(opening.problem);
    if (!(opening.runtime instanceof SandboxRuntime)) throw new Error("expected a runtime with boxes");
    return new BenchBox(home, folder, opening.runtime);
  }

  /** From the decision to the reply, in milliseconds. */
  async call(tool: Call): Promise<number> {
    const given = tool === "shell" ? { command: `cat ${this.folder.at("note")}` } : { path: this.folder.at("note") };
    const decision = decideCall(this.runtime, { tool, arguments: given, paths: [this.folder.path] });
    const started = performance.now();
    const outcome = await this.runtime.run(buildRunSpec(decision), { signal: NEVER });
    const took = performance.now() - started;
    if (outcome.kind !== "done" || !outcome.content.startsWith(CONTENT)) throw new Error(JSON.stringify(outcome));
    return took;
  }

  /** Resolves when no box is left of a call that has been answered, and none is started or waits for a next one. */
  async quiet(): Promise<void> {
    this.runtime.grantsChanged();
    while (this.runtime.running > 0) await pause(5);
  }

  /** Resolves when a box waits for the next call, and Node in it has had the time to start. */
  async untilOneWaits(): Promise<void> {
    while (this.runtime.pool?.complete !== 1) await pause(5);
    await pause(BOOT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
    this.home[Symbol.dispose]();
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
