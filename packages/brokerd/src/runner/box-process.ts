/** One box as a process of the host: its request in, its answer out, and its end, whatever it does. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { BoxDone, decodeMessage, FrameDecoder } from "@boxmaker/proto";
import type { RunErrorCode, RunOutcome } from "./runtime.ts";

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

export interface BoxOptions {
  readonly input: Buffer;
  readonly limitMs: number;
  readonly outputCap: number;
  /** Kills the box. */
  readonly signal: AbortSignal;
}

/** A started box: `answer` is there as soon as it can be, `ended` once nothing of the box is left. Neither rejects. */
export interface Box {
  readonly answer: Promise<RunOutcome>;
  readonly ended: Promise<void>;
}

/** How long an answer waits for a box that is being ended, or for pipes that something holds. */
const GRACE_MS = 2_000;
/** How long the program may take to notice that its box is gone. */
const NOTICE_MS = 500;
/** How long a box that has answered may take to end by itself. */
const LINGER_MS = 2_000;
const STDERR_KEPT = 4096;
const REPORT_KEPT = 1024;
/** What a tool may say beyond its capped output: notes and its exit status. */
const NOTE_BYTES = 4096;

/** Starts a box and sees it to its end. */
export function startBox(launch: Launch, options: BoxOptions): Box {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = start(launch);
  } catch (error) {
    // A command line or environment that the kernel refuses: nothing was started.
    return { answer: Promise.resolve(failure("start_failed", describe(error))), ended: Promise.resolve() };
  }
  return child.pid === undefined ? unstarted(child) : new RunningBox(child, launch, options);
}

/** There is no process, and where descriptors have run out there are no pipes either. Why is still to come. */
function unstarted(child: ChildProcessWithoutNullStreams): Box {
  const answer = Promise.withResolvers<RunOutcome>();
  child.once("error", (error) => answer.resolve(failure("start_failed", describe(error))));
  return { answer: answer.promise, ended: answer.promise.then(ignore) };
}

function start({ program, args, environment, filter, reportsChild }: Launch): ChildProcessWithoutNullStreams {
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

function failure(code: RunErrorCode, detail: string): RunOutcome {
  return { kind: "error", code, detail };
}

function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    // It's gone already.
    return false;
  }
}

class RunningBox implements Box {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #launch: Launch;
  readonly #outputCap: number;
  readonly #answer = Promise.withResolvers<RunOutcome>();
  readonly #ended = Promise.withResolvers<void>();
  /** Aborts when the process is gone and its pipes are read to their end, or given up. */
  readonly #closed = new AbortController();
  readonly #decoder = new FrameDecoder();
  #stderr = Buffer.alloc(0);
  #report = "";
  #answered = false;
  /** Why the box is being ended, once it is. From then on nothing that it says counts. */
  #cause: { readonly code: "timed_out" | "cancelled"; readonly detail: string } | undefined;
  #stopping: Promise<void> | undefined;

  constructor(child: ChildProcessWithoutNullStreams, launch: Launch, { input, limitMs, outputCap, signal }: BoxOptions) {
    this.#child = child;
    this.#launch = launch;
    this.#outputCap = outputCap;
    child.once("error", (error) => {
      this.#settle(failure("start_failed", describe(error)));
      this.#close();
    });
    child.stdout.on("data", (chunk: Buffer) => this.#readAnswer(chunk));
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
    child.stdin.end(input);

    const onAbort = (): void => this.#interrupt("cancelled", "brokerd is stopping");
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true, signal: this.#closed.signal });
    this.#after(limitMs, () => this.#interrupt("timed_out", `still running after ${limitMs} ms`));
  }

  get answer(): Promise<RunOutcome> {
    return this.#answer.promise;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Calls `action` after that time, unless the box has closed by then. */
  #after(ms: number, action: () => void): void {
    if (this.#closed.signal.aborted) return;
    AbortSignal.timeout(ms).addEventListener("abort", action, { once: true, signal: this.#closed.signal });
  }

  #close(): void {
    this.#closed.abort();
    this.#ended.resolve(this.#stopping);
  }

  #settle(outcome: RunOutcome): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#answer.resolve(outcome);
  }

  #readAnswer(chunk: Buffer): void {
    if (this.#answered || this.#cause !== undefined) return;
    this.#decoder.push(chunk);
    const step = this.#decoder.next();
    if (step.kind === "incomplete") return;
    this.#settle(step.kind === "frame" ? this.#readFrame(step.body) : failure("no_answer", `an answer of ${step.length} bytes`));
    this.#after(LINGER_MS, () => this.#stop());
  }

  #readFrame(body: Buffer): RunOutcome {
    const decoded = decodeMessage(BoxDone, body);
    if (decoded.kind !== "message") return failure("no_answer", `${decoded.kind}: ${decoded.detail}`);
    const { status, content, truncated } = decoded.envelope.message.body;
    const bytes = Buffer.from(content);
    const limit = this.#outputCap + NOTE_BYTES;
    if (bytes.length <= limit) return { kind: "done", status, content, truncated };
    // The tool caps its output itself; this is for a box in which something else answered.
    const cut = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, limit), { stream: true });
    return { kind: "done", status, content: cut, truncated: true };
  }

  #keepStderr(chunk: Buffer): void {
    const room = STDERR_KEPT - this.#stderr.length;
    if (room > 0) this.#stderr = Buffer.concat([this.#stderr, chunk.subarray(0, room)]);
  }

  #interrupt(code: "timed_out" | "cancelled", detail: string): void {
    if (this.#answered) {
      this.#stop();
      return;
    }
    this.#cause ??= { code, detail };
    this.#stop();
    const { code: cause, detail: why } = this.#cause;
    const answer = (): void => this.#settle(failure(cause, why));
    this.#after(GRACE_MS, answer);
    this.#stopping?.then(answer, answer);
  }

  #stop(): void {
    this.#stopping ??= this.#launch.stop(() => this.#kill());
  }

  /**
   * Kills the first process of the box where it's known: the kernel then ends all others before that one is gone, so that the
   * program's own end means that nothing is left. Killed first, the program would leave them dying.
   */
  #kill(): void {
    const inner = /"child-pid": ?([1-9][0-9]{0,9})\b/u.exec(this.#report)?.[1];
    const runs = this.#child.exitCode === null && this.#child.signalCode === null;
    if (inner === undefined || !runs || !killProcess(Number(inner))) {
      this.#child.kill("SIGKILL");
      return;
    }
    this.#after(NOTICE_MS, () => this.#child.kill("SIGKILL"));
  }

  #onExit(status: number | null, killedBy: NodeJS.Signals | null): void {
    // Killed from outside: what it was to clean up may still be there.
    if (killedBy !== null) this.#stop();
    this.#after(GRACE_MS, () => {
      // Something holds the pipes: stop reading.
      this.#child.stdout.destroy();
      this.#child.stderr.destroy();
      this.#onClose(status, killedBy);
    });
  }

  #onClose(status: number | null, killedBy: NodeJS.Signals | null): void {
    this.#close();
    if (this.#cause === undefined) this.#settle(this.#describeEnd(status, killedBy));
    else this.#settle(failure(this.#cause.code, this.#cause.detail));
  }

  #describeEnd(status: number | null, killedBy: NodeJS.Signals | null): RunOutcome {
    const how = status === null ? `killed by ${killedBy ?? "a signal"}` : `exit status ${status}`;
    const detail = `${how}, ${this.#decoder.end()}: ${this.#stderr.toString("utf8").trim()}`;
    if (status === 125 || status === 126 || status === 127) return failure("start_failed", detail);
    return failure(status === 137 || killedBy === "SIGKILL" ? "killed" : "no_answer", detail);
  }
}
