/** One role as a child process: started, heard when it is ready, and ended. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Clock } from "@boxmaker/edge/log";
import { quoteText } from "@boxmaker/proto";
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
  /** `problem` is one line with a runbook pointer; `exit` is there where the process ended by itself. */
  | { readonly kind: "failed"; readonly problem: string; readonly exit: Exit | undefined };

/** The longest that a role may take to say that it is ready. */
const START_MS = 60_000;
/**
 * From SIGTERM to SIGKILL: longer than any role takes by its defaults. brokerd gives its boxes 5 s, then who reads slowly 10 s, and ends by
 * itself 10 s later.
 */
const STOP_MS = 30_000;

/** A daemon that has said it is ready. */
export class Daemon {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #clock: Clock;
  /** Resolves when the process has ended. Never rejects. */
  readonly exited: Promise<Exit>;

  constructor(child: ChildProcessByStdio<null, Readable, Readable>, exited: Promise<Exit>, clock: Clock) {
    this.#child = child;
    this.#clock = clock;
    this.exited = exited;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends the process: SIGTERM, and SIGKILL where it hasn't ended after {@link STOP_MS}. */
  async stop(): Promise<Exit> {
    endChild(this.#child, this.#clock, this.exited);
    return await this.exited;
  }
}

/** Sends SIGTERM, and SIGKILL where it hasn't ended after {@link STOP_MS}. */
function endChild(child: ChildProcessByStdio<null, Readable, Readable>, clock: Clock, exited: Promise<Exit>): void {
  child.kill("SIGTERM");
  const ended = new AbortController();
  exited.then(() => ended.abort()).catch(() => undefined);
  clock.sleep(STOP_MS, ended.signal).then(
    () => child.kill("SIGKILL"),
    () => undefined,
  );
}

/**
 * Starts a daemon and waits for the line that begins with `<name>: ready`. Where it ends instead, the reason is the last line on its
 * standard error that begins with its name: the one that it refuses with.
 *
 * @param signal ends the start: the process is stopped, and its end waited for
 */
export async function startDaemon(
  name: string,
  program: Program,
  onLine: LineListener,
  clock: Clock,
  signal: AbortSignal,
): Promise<Start> {
  if (signal.aborted) return { kind: "failed", problem: toldToEnd(name), exit: undefined };
  const child = spawn(program.command, program.args, {
    env: program.env,
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own: Ctrl-C on the terminal is for the chat, not for the daemons.
    detached: true,
  });
  const { promise: exited, resolve: exit } = Promise.withResolvers<Exit>();
  const { promise: outcome, resolve: decide } = Promise.withResolvers<{ ready: string } | { problem: string; exit?: Exit }>();
  let refusal: string | undefined;
  child.once("error", (error) => {
    decide({ problem: `${name} can't be started: ${quoteText(error.message)}; see docs/runbook.md#role-ended` });
    exit({ code: null, signal: null });
  });
  child.once("close", (code, signal) => {
    const why = `${name} ended (${describeExit({ code, signal })}) before it was ready; see docs/runbook.md#role-ended`;
    decide({ problem: refusal ?? why, exit: { code, signal } });
    exit({ code, signal });
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith(`${name}: ready`)) decide({ ready: line });
    onLine(line, "stdout");
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (line.startsWith(`${name}: `)) refusal = line;
    onLine(line, "stderr");
  });
  const decided = new AbortController();
  const giveUp = (): void => {
    decide({ problem: `${name} didn't become ready within ${START_MS} ms; see docs/runbook.md#role-ended` });
    child.kill("SIGKILL");
  };
  clock.sleep(START_MS, decided.signal).then(giveUp, () => undefined);
  const end = (): void => {
    refusal = toldToEnd(name);
    endChild(child, clock, exited);
  };
  signal.addEventListener("abort", end, { once: true });
  const result = await outcome;
  signal.removeEventListener("abort", end);
  decided.abort();
  if ("problem" in result) return { kind: "failed", problem: result.problem, exit: result.exit };
  return { kind: "ready", daemon: new Daemon(child, exited, clock), line: result.ready };
}

function toldToEnd(name: string): string {
  return `${name} was told to end before it was ready; see docs/runbook.md#role-ended`;
}

/** `exit 1`, or `killed by SIGKILL`. */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exit ${code ?? "unknown"}` : `killed by ${signal}`;
}
