/** The real program in a process of its own. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

const PATIENCE_MS = 60_000;

export class BxctlProcess implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<number | NodeJS.Signals>;
  stdout = "";
  stderr = "";
  #wake: (() => void)[] = [];
  /** Rejects after a time in which everything has happened, with what the program has said until then. */
  readonly #patience: Promise<never>;

  constructor(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, [MAIN, ...words], { env: { PATH: process.env["PATH"] ?? "", ...env } });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#notify();
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#notify();
    });
    this.#child.stdin.on("error", () => undefined);
    this.#patience = new Promise((_resolve, reject) => {
      AbortSignal.timeout(PATIENCE_MS).addEventListener("abort", () => {
        reject(new Error(`still running: ${this.stdout}${this.stderr}`));
      });
    });
    this.#patience.catch(() => undefined);
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        resolve(code ?? signal ?? "SIGKILL");
        this.#notify();
      });
    });
  }

  /** Runs to its end with this input. */
  static async run(words: readonly string[], input = "", env: Readonly<Record<string, string>> = {}): Promise<Finished> {
    await using program = new BxctlProcess(words, env);
    program.end(input);
    return await program.finished();
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  end(text = ""): void {
    this.#child.stdin.end(text);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits until the program has written something that matches; fails when it ends before. */
  async wrote(stream: "stdout" | "stderr", pattern: RegExp): Promise<void> {
    let ended = false;
    const end = this.#ended.then(() => {
      ended = true;
    });
    while (!pattern.test(this[stream])) {
      if (ended) throw new Error(`ended without writing ${pattern}: ${this.stdout}${this.stderr}`);
      await Promise.race([
        end,
        this.#patience,
        new Promise<void>((resolve) => {
          this.#wake.push(resolve);
        }),
      ]);
    }
  }

  async finished(): Promise<Finished> {
    const status = await Promise.race([this.#ended, this.#patience]);
    return { status, stdout: this.stdout, stderr: this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}

export interface Finished {
  readonly status: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}
