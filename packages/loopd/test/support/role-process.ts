/** Real roles as processes, to be killed and started anew. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const PACKAGES = join(import.meta.dirname, "../../..");

export class RoleProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, "exit");
  }

  /** Starts a role and waits for its ready line. */
  static async #start(role: "inferproxy" | "loopd", args: readonly string[], env?: NodeJS.ProcessEnv): Promise<RoleProcess> {
    const main = join(PACKAGES, role, "src/main.ts");
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "inherit"], env: env ?? process.env });
    const started = new RoleProcess(child);
    await Promise.race([
      once(child.stdout, "data"),
      started.#exited.then(() => {
        throw new Error(`${role} didn't start`);
      }),
    ]);
    return started;
  }

  static loopd(config: string): Promise<RoleProcess> {
    return RoleProcess.#start("loopd", ["serve", "--config", config]);
  }

  /** Between `socket` and a model server. */
  static inferproxy(socket: string, upstream: string, more: readonly string[] = []): Promise<RoleProcess> {
    return RoleProcess.#start("inferproxy", ["--listen", socket, "--upstream", upstream, ...more], {});
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
