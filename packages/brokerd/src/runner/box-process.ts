/** One box as a process of the host: its request in, its answer out, and its end, whatever it does. */
import { BoxDone, decodeMessage, FrameDecoder } from "@boxmaker/proto";
import { type BoxChild, type BoxEvents, GRACE_MS, type Launch, type Starting, startChild } from "./box-child.ts";
import type { RunErrorCode, RunOutcome } from "./runtime.ts";

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

/** How long a box that has answered may take to end by itself. */
const LINGER_MS = 2_000;
/** What a tool may say beyond its capped output: notes and its exit status. */
const NOTE_BYTES = 4096;

/** Gives a box its input: one that starts now, or one that waits for it. */
export type Begin = (input: Buffer, events: BoxEvents) => Starting;

/** Starts a box and sees it to its end. */
export function startBox(launch: Launch, options: BoxOptions): Box {
  return runInBox((input, events) => startChild(launch, input, events), options);
}

/** Sees a box to its end. Its time runs from now. */
export function runInBox(begin: Begin, options: BoxOptions): Box {
  return new RunningBox(begin, options);
}

function failure(code: RunErrorCode, detail: string): RunOutcome {
  return { kind: "error", code, detail };
}

class RunningBox implements Box {
  readonly ended: Promise<void>;
  readonly #child: BoxChild | undefined;
  readonly #outputCap: number;
  readonly #answer = Promise.withResolvers<RunOutcome>();
  readonly #decoder = new FrameDecoder();
  #answered = false;
  /** Why the box is being ended, once it is. From then on nothing that it says counts. */
  #cause: { readonly code: "timed_out" | "cancelled"; readonly detail: string } | undefined;

  constructor(begin: Begin, { input, limitMs, outputCap, signal }: BoxOptions) {
    this.#outputCap = outputCap;
    const starting = begin(input, {
      onOutput: (chunk) => this.#readAnswer(chunk),
      onError: (problem) => this.#settle(failure("start_failed", problem)),
      onClose: (status, killedBy) => this.#onClose(status, killedBy),
    });
    if (starting.kind === "unstarted") {
      this.ended = starting.problem.then((problem) => this.#settle(failure("start_failed", problem)));
      return;
    }
    const { box } = starting;
    this.#child = box;
    this.ended = box.ended;
    const onAbort = (): void => this.#interrupt(box, "cancelled", "brokerd is stopping");
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true, signal: box.closed });
    box.after(limitMs, () => this.#interrupt(box, "timed_out", `still running after ${limitMs} ms`));
  }

  get answer(): Promise<RunOutcome> {
    return this.#answer.promise;
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
    this.#child?.after(LINGER_MS, () => this.#child?.stop());
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

  #interrupt(box: BoxChild, code: "timed_out" | "cancelled", detail: string): void {
    if (this.#answered) {
      box.stop();
      return;
    }
    this.#cause ??= { code, detail };
    const { code: cause, detail: why } = this.#cause;
    const answer = (): void => this.#settle(failure(cause, why));
    box.after(GRACE_MS, answer);
    box.stop(answer);
  }

  #onClose(status: number | null, killedBy: NodeJS.Signals | null): void {
    if (this.#cause === undefined) this.#settle(this.#describeEnd(status, killedBy));
    else this.#settle(failure(this.#cause.code, this.#cause.detail));
  }

  #describeEnd(status: number | null, killedBy: NodeJS.Signals | null): RunOutcome {
    const how = status === null ? `killed by ${killedBy ?? "a signal"}` : `exit status ${status}`;
    const detail = `${how}, ${this.#decoder.end()}: ${this.#child?.stderr ?? ""}`;
    if (status === 125 || status === 126 || status === 127) return failure("start_failed", detail);
    return failure(status === 137 || killedBy === "SIGKILL" ? "killed" : "no_answer", detail);
  }
}
