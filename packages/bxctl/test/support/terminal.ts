/** A real terminal: tmux with a server of its own, whose output wakes whoever waits. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MAIN } from "./bxctl-process.ts";

const PATIENCE_MS = 40_000;

/** Why there is no terminal to test in, or undefined. */
export function findTerminalProblem(): string | undefined {
  try {
    execFileSync("tmux", ["-V"]);
    return undefined;
  } catch {
    return "tmux isn't installed";
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export class Terminal implements AsyncDisposable {
  readonly #socket: string;
  readonly #control: ChildProcess;
  #wake: (() => void) | undefined;
  /** Everything that was written, escape sequences and all, as tmux reports it. */
  output = "";

  /** Runs bxctl with these words; after its end the row `ended STATUS MODE` says how, and whether the terminal reads lines again. */
  constructor(folder: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#socket = join(folder, "tmux.sock");
    const settings = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`);
    const program = [...settings, process.execPath, MAIN, ...words].map((word, index) =>
      index < settings.length ? word : quote(word),
    );
    const script = `${program.join(" ")}; echo "ended $? $(stty -a | grep -oE '[-]?icanon')"; sleep 600`;
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "80", "-y", "50", "sh", "-c", script);
    this.#control = spawn("tmux", ["-S", this.#socket, "-C", "attach", "-t", "t"], { stdio: ["pipe", "pipe", "ignore"] });
    this.#control.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.output += text;
      this.#wake?.();
    });
  }

  /** Presses keys, by tmux's names for them (`Enter`, `C-c`) or as text. */
  keys(...keys: readonly string[]): void {
    this.#tmux("send-keys", "-t", "t", ...keys);
  }

  /** What is on the screen, and has scrolled off it. */
  rows(): readonly string[] {
    return this.#tmux("capture-pane", "-p", "-t", "t", "-S", "-1000").trimEnd().split("\n");
  }

  /** Waits until the screen as a whole matches; rows end at their last mark. Fails after a time in which everything has happened. */
  async shows(pattern: RegExp): Promise<readonly string[]> {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    patience.addEventListener("abort", () => this.#wake?.(), { once: true });
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const rows = this.rows();
      if (pattern.test(rows.join("\n"))) return rows;
      if (patience.aborted) throw new Error(`the screen never matched ${pattern}:\n${rows.join("\n")}`);
      await woken;
    }
  }

  /** Bytes that the program has read from anywhere. */
  bytesRead(): number {
    const shell = this.#tmux("display-message", "-p", "-t", "t", "#{pane_pid}").trim();
    const [program = ""] = readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8").split(" ");
    return Number(/^rchar: (\d+)$/mu.exec(readFileSync(`/proc/${program}/io`, "utf8"))?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => {
      this.#control.once("close", resolve);
    });
    this.#tmux("kill-server");
    await ended;
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync("tmux", ["-S", this.#socket, ...words], { encoding: "utf8" });
  }
}
