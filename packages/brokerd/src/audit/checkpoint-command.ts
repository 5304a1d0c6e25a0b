/** Hands checkpoints to the owner's command that carries them off the machine. Nothing waits for it. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { escapeText, quoteText } from "@boxmaker/proto";

const DEADLINE_MS = 30_000;
/** At a stop. */
const LAST_DEADLINE_MS = 5000;
const MAX_COMPLAINT = 300;
const ENVIRONMENT = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

export interface CheckpointCommandOptions {
  /** Program and arguments; the checkpoint comes on standard input. */
  readonly words: readonly [string, ...string[]];
  /** Takes one printable line when the command begins to fail. Must not throw. */
  readonly warn: (line: string) => void;
  readonly deadlineMs?: number;
}

/** Runs the command once at a time, with the newest checkpoint there is then. */
export class CheckpointCommand implements AsyncDisposable {
  readonly #options: CheckpointCommandOptions;
  readonly #stopping = new AbortController();
  #waiting: string | undefined;
  #running: Promise<void> | undefined;
  #failing = false;

  constructor(options: CheckpointCommandOptions) {
    this.#options = options;
  }

  /** Hands a checkpoint over, now or as soon as the command has ended. */
  carry(note: string): void {
    this.#waiting = note;
    this.#running ??= this.#run();
  }

  /** Gives what is under way, and what waits, a few seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#running === undefined) return;
    AbortSignal.timeout(LAST_DEADLINE_MS).addEventListener("abort", () => this.#stopping.abort(), { once: true });
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let note = this.#waiting; note !== undefined; note = this.#waiting) {
      this.#waiting = undefined;
      if (this.#stopping.signal.aborted) break;
      this.#report(await this.#once(note));
    }
    this.#running = undefined;
  }

  #report(problem: string | undefined): void {
    const isNews = problem !== undefined && !this.#failing;
    this.#failing = problem !== undefined;
    if (!isNews) return;
    const program = quoteText(this.#options.words[0]);
    this.#options.warn(`the checkpoint command ${program} ${problem}; records go on; see docs/runbook.md#checkpoint-command`);
  }

  /** What went wrong, in a few printable words. */
  #once(note: string): Promise<string | undefined> {
    const { words, deadlineMs = DEADLINE_MS } = this.#options;
    const [program, ...args] = words;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const signal = AbortSignal.any([AbortSignal.timeout(deadlineMs), this.#stopping.signal]);
    let child: ChildProcessByStdio<Writable, null, Readable>;
    try {
      // A group of its own, so that what the command has started ends with it.
      child = spawn(program, args, { cwd: "/", env: ENVIRONMENT, stdio: ["pipe", "ignore", "pipe"], detached: true });
    } catch (error) {
      // Some failures come at once, as that of arguments that are too long. Records go on.
      return Promise.resolve(phraseUnstarted(error));
    }
    child.on("error", (error) => resolve(phraseUnstarted(error)));
    const { pid } = child;
    // Without a process there may be no pipes either; the error is on its way.
    if (pid === undefined) return promise;
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = `${complaint}${text}`.slice(0, MAX_COMPLAINT);
    });
    const end = (): void => killGroup(pid);
    signal.addEventListener("abort", end, { once: true });
    child.on("exit", (status, killed) => {
      signal.removeEventListener("abort", end);
      // Something that it left running may hold the other end.
      child.stderr.destroy();
      const [first = ""] = complaint.trim().split("\n");
      const said = first === "" ? "" : `: ${escapeText(first)}`;
      if (signal.aborted) resolve(`was stopped after ${deadlineMs} ms`);
      else if (status === 0) resolve(undefined);
      else resolve(`ended with ${status === null ? (killed ?? "a signal") : `status ${status}`}${said}`);
    });
    // A command that doesn't read all of it says by its status whether that is all right.
    child.stdin.on("error", () => undefined);
    child.stdin.end(note);
    return promise;
  }
}

function phraseUnstarted(error: unknown): string {
  return `can't be started (${escapeText(error instanceof Error ? error.message : "an unknown error")})`;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended in this moment.
  }
}
