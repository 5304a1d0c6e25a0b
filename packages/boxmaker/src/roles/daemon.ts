/** One role as a child process: started, heard when it is ready, and ended. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Program } from "./role-program.ts";

/** How a daemon ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Takes each line that a daemon writes. Must not throw. */
export type LineListener = (line: string, stream: "stdout" | "stderr") => void;

export type Start =
  | { readonly kind: "ready"; readonly daemon: Daemon; readonly line: string }
  | { readonly kind: "failed"; readonly problem: string };

/** The longest that a role may take to say that it is ready. */
const START_MS = 60_000;
/** From SIGTERM to SIGKILL. */
const STOP_MS = 10_000;

/** A daemon that has said it is ready. */
export class Daemon {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  /** Resolves when the process has ended. Never rejects. */
  readonly exited: Promise<Exit>;

  constructor(child: ChildProcessByStdio<null, Readable, Readable>, exited: Promise<Exit>) {
    this.#child = child;
    this.exited = exited;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends the process: SIGTERM, and SIGKILL where it hasn't ended after ten seconds. */
  async stop(): Promise<Exit> {
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    try {
      return await this.exited;
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Starts a daemon and waits for the line that begins with `<name>: ready`. What it says before that on standard error is the reason
 * where it ends instead.
 */
export async function startDaemon(name: string, program: Program, onLine: LineListener): Promise<Start> {
  const child = spawn(program.command, program.args, {
    env: program.env,
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own: Ctrl-C on the terminal is for the chat, not for the daemons.
    detached: true,
  });
  const { promise: exited, resolve: exit } = Promise.withResolvers<Exit>();
  const { promise: outcome, resolve: decide } = Promise.withResolvers<{ ready: string } | { problem: string }>();
  let lastError = "";
  child.once("error", (error) => {
    decide({ problem: `can't be started: ${error.message}` });
    exit({ code: null, signal: null });
  });
  child.once("close", (code, signal) => {
    decide({ problem: lastError === "" ? `ended (${describeExit({ code, signal })}) before it was ready` : lastError });
    exit({ code, signal });
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith(`${name}: ready`)) decide({ ready: line });
    onLine(line, "stdout");
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    lastError = line;
    onLine(line, "stderr");
  });
  const timer = setTimeout(() => {
    decide({ problem: "didn't become ready in time" });
    child.kill("SIGKILL");
  }, START_MS);
  const result = await outcome;
  clearTimeout(timer);
  if ("problem" in result) return { kind: "failed", problem: result.problem };
  return { kind: "ready", daemon: new Daemon(child, exited), line: result.ready };
}

/** `exit 1`, or `killed by SIGKILL`. */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exit ${code ?? "unknown"}` : `killed by ${signal}`;
}
