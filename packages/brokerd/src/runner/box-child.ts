/** The process of the host that makes a box: started, heard, and ended whatever it does. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

/** How to start a box, and how to end it. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Written to descriptor 3, where the program reads one. */
  readonly filter: Buffer | null;
  /** Whether the program says on descriptor 4, as `"child-pid": N`, which process is the first one in its box. */
  readonly reportsChild: boolean;
  /** Ends the box whatever state it is in. Calls `killChild` once nothing gentler is left to do. Must not reject. */
  readonly stop: (killChild: () => void) => Promise<void>;
}

/** What a box's process says, and how it ended. None of these may throw. */
export interface BoxEvents {
  readonly onOutput: (chunk: Buffer) => void;
  /** It could not be started after all; `onClose` won't be called. */
  readonly onError: (problem: string) => void;
  /** It is gone, and its pipes are read to their end or given up.. */
  readonly onClose: (status: number | null, killedBy: NodeJS.Signals | null) => void;
}

export type Starting =
  | { readonly kind: "started"; readonly box: BoxChild }
  | { readonly kind: "unstarted"; readonly problem: Promise<string> };

/** How long pipes that something holds are read once the process is gone, and an answer waits for a box that is being ended. */
export const GRACE_MS = 2_000;
/** How long the program may take to notice that its box is gone. */
const NOTICE_MS = 500;
const STDERR_KEPT = 4096;
const REPORT_KEPT = 1024;

/** Starts the process, and gives it `input`; null: that is still to come, see {@link BoxChild.give}. */
export function startChild(launch: Launch, input: Buffer | null, events: BoxEvents): Starting {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawnChild(launch);
  } catch (error) {
    // A command line or environment that the kernel refuses: nothing was started.
    return { kind: "unstarted", problem: Promise.resolve(describe(error)) };
  }
  if (child.pid !== undefined) return { kind: "started", box: new BoxChild(child, launch, input, events) };
  // There is no process, and where descriptors have run out there are no pipes either. Why is still to come.
  const problem = Promise.withResolvers<string>();
  child.once("error", (error) => problem.resolve(describe(error)));
  return { kind: "unstarted", problem: problem.promise };
}

function spawnChild({ program, args, environment, filter, reportsChild }: Launch): ChildProcessWithoutNullStreams {
  // Null: no descriptor.
  const extra = [filter === null ? null : "pipe", reportsChild ? "pipe" : null] as const;
  // In a session of its own: a Ctrl-C in brokerd's terminal must not reach it.
  const child = spawn(program, args, { cwd: "/", env: environment, detached: true, stdio: ["pipe", "pipe", "pipe", ...extra] });
  if (child.pid === undefined) return child;
  const pipe = child.stdio[3];
  if (filter !== null && pipe instanceof Writable) pipe.on("error", ignore).end(filter);
  return child;
}

/** The writing end of a pipe whose reader may go at any time: the box's end says what happened. */
function ignore(): undefined {
  return undefined;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : "unknown error";
}

function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    // It's gone already.
    return false;
  }
}

/** A started process. */
export class BoxChild {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #launch: Launch;
  readonly #events: BoxEvents;
  readonly #ended = Promise.withResolvers<void>();
  /** Aborts when the process is gone and its pipes are read to their end, or given up. */
  readonly #closed = new AbortController();
  #stderr = Buffer.alloc(0);
  #report = "";
  #stopping: Promise<void> | undefined;

  constructor(child: ChildProcessWithoutNullStreams, launch: Launch, input: Buffer | null, events: BoxEvents) {
    this.#child = child;
    this.#launch = launch;
    this.#events = events;
    child.once("error", (error) => {
      events.onError(describe(error));
      this.#close();
    });
    child.stdout.on("data", events.onOutput);
    child.stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    const report = child.stdio[4];
    if (report instanceof Readable) {
      report.on("error", ignore).on("data", (chunk: Buffer) => {
        if (this.#report.length < REPORT_KEPT) this.#report += chunk.toString("latin1");
      });
    }
    child.once("exit", (status, killedBy) => this.#onExit(status, killedBy));
    child.once("close", (status, killedBy) => this.#onClose(status, killedBy));
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", ignore);
    if (input !== null) this.give(input);
  }

  /** Gives it all of its input: to be called once. */
  give(input: Buffer): void {
    this.#child.stdin.end(input);
  }

  /** The first process in the box, where the program has said which one that is. */
  get firstProcess(): number | undefined {
    const reported = /"child-pid": ?([1-9][0-9]{0,9})\b/u.exec(this.#report)?.[1];
    return reported === undefined ? undefined : Number(reported);
  }

  /** Resolves once nothing of the box is left. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** The first bytes of what it wrote as its errors: untrusted text. */
  get stderr(): string {
    return this.#stderr.toString("utf8").trim();
  }

  /** Calls `action` after that time, unless the process has closed by then. */
  after(ms: number, action: () => void): void {
    if (this.#closed.signal.aborted) return;
    AbortSignal.timeout(ms).addEventListener("abort", action, { once: true, signal: this.#closed.signal });
  }

  /** Ends the box. `onStopped` is called when that is done; it must not throw. */
  stop(onStopped: () => void = ignore): void {
    this.#stopping ??= this.#launch.stop(() => this.#kill());
    this.#stopping.then(onStopped, onStopped);
  }

  #close(): void {
    this.#closed.abort();
    this.#ended.resolve(this.#stopping);
  }

  #keepStderr(chunk: Buffer): void {
    const room = STDERR_KEPT - this.#stderr.length;
    if (room > 0) this.#stderr = Buffer.concat([this.#stderr, chunk.subarray(0, room)]);
  }

  /**
   * Kills the first process of the box where it's known: the kernel then ends all others before that one is gone, so that the
   * program's own end means that nothing is left. Killed first, the program would leave them dying.
   */
  #kill(): void {
    const inner = this.firstProcess;
    const runs = this.#child.exitCode === null && this.#child.signalCode === null;
    if (inner === undefined || !runs || !killProcess(inner)) {
      this.#child.kill("SIGKILL");
      return;
    }
    this.after(NOTICE_MS, () => this.#child.kill("SIGKILL"));
  }

  #onExit(status: number | null, killedBy: NodeJS.Signals | null): void {
    // Killed from outside: what it was to clean up may still be there.
    if (killedBy !== null) this.stop();
    this.after(GRACE_MS, () => {
      // Something holds the pipes: stop reading.
      this.#child.stdout.destroy();
      this.#child.stderr.destroy();
      this.#onClose(status, killedBy);
    });
  }

  #onClose(status: number | null, killedBy: NodeJS.Signals | null): void {
    this.#close();
    this.#events.onClose(status, killedBy);
  }
}
