/** loopd as a process, to be killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

export class LoopdProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, "exit");
  }

  /** Starts `loopd serve` and waits for its ready line. */
  static async start(config: string): Promise<LoopdProcess> {
    const child = spawn(process.execPath, [MAIN, "serve", "--config", config], { stdio: ["ignore", "pipe", "inherit"] });
    const started = new LoopdProcess(child);
    await once(child.stdout, "data");
    return started;
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
