/** brokerd as a process of its own, with its home in a temporary folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AbsPath } from "@boxmaker/proto";
import type { BoxFiles } from "./rig.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DaemonOptions {
  /** A command line that starts the one that it is given. */
  readonly shell?: string;
  /** brokerd's program, where it isn't the source. */
  readonly program?: string;
  /** What its environment has beside ours. */
  readonly environment?: NodeJS.ProcessEnv;
}

export class Daemon implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";
  readonly #ready = Promise.withResolvers<string>();

  constructor(args: readonly string[], options: DaemonOptions = {}) {
    const command = [process.execPath, options.program ?? MAIN, ...args];
    const [program = "", ...rest] = options.shell === undefined ? command : ["/bin/sh", "-c", options.shell, "sh", ...command];
    const env = { ...process.env, ...options.environment };
    this.child = spawn(program, rest, { stdio: ["ignore", "pipe", "pipe"], env });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
      const line = /^brokerd: ready .*$/mu.exec(this.#stdout)?.[0];
      if (line !== undefined) this.#ready.resolve(line);
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.ended = once(this.child, "close").then(() => ({
      code: this.child.exitCode,
      signal: this.child.signalCode,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }));
    const end = (): void => this.#ready.reject(new Error(`ended before it was ready: ${this.#stderr}`));
    this.ended.then(end, end);
    this.#ready.promise.catch(() => undefined);
  }

  /** Starts one with a configuration that names the files' home; `toml` is added to it. */
  static serve(files: BoxFiles, toml = "", options: DaemonOptions = {}): Daemon {
    return new Daemon(["serve", "--config", configOf(files, toml)], options);
  }

  /** The ready line. */
  get ready(): Promise<string> {
    return this.#ready.promise;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get stderr(): string {
    return this.#stderr;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) this.kill("SIGKILL");
    await this.ended;
  }
}

export function configOf(files: BoxFiles, toml = ""): string {
  mkdirSync(files.at("etc"), { recursive: true });
  const path = files.at("etc/brokerd.toml");
  const text = `home = ${JSON.stringify(files.path)}\n[grants]\ndirectory = ${JSON.stringify(files.at("grants"))}\n${toml}`;
  writeFileSync(path, text);
  return path;
}

export function brokerOf(files: BoxFiles): AbsPath {
  return files.at("run/broker/broker.sock");
}

export function mcpOf(files: BoxFiles): AbsPath {
  return files.at("run/mcp/broker.sock");
}

export function approvalOf(files: BoxFiles): AbsPath {
  return files.at("run/approval/approval.sock");
}

export function adminOf(files: BoxFiles): AbsPath {
  return files.at("run/admin/admin.sock");
}
