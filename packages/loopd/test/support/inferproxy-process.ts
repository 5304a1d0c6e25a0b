/** A real inferproxy before a model server, to be killed and started anew. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const MAIN = join(import.meta.dirname, "../../../inferproxy/src/main.ts");

export class InferproxyProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, "exit");
  }

  /** Starts it on `socket` and waits for its ready line. */
  static async start(socket: string, upstream: string, more: readonly string[] = []): Promise<InferproxyProcess> {
    const args = [MAIN, "--listen", socket, "--upstream", upstream, ...more];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"], env: {} });
    const started = new InferproxyProcess(child);
    await Promise.race([
      once(child.stdout, "data"),
      started.#exited.then(() => {
        throw new Error("inferproxy didn't start");
      }),
    ]);
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
