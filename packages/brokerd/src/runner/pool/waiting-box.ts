/** A box that was started before its call: the same command line as ever, blocked where it reads the one frame that it will be given. */
import type { AbsPath } from "@boxmaker/proto";
import { type BoxChild, type BoxEvents, type Launch, type Starting, startChild } from "../box-child.ts";
import type { BoxContents } from "../box-contents.ts";
import { hasItsFittings, lookAtHost } from "./box-fittings.ts";

/** How to start a box whose first process can be found from outside. */
export interface AheadLaunch extends Launch {
  /** Where the program writes which process is the first in the box; null where it says so as {@link BoxChild.firstProcess}. */
  readonly processFile: AbsPath | null;
}

export interface WaitingBoxOptions {
  readonly launch: AheadLaunch;
  readonly contents: BoxContents;
  /** Reads the number of the first process, or nothing where there is none yet. Must not throw. */
  readonly readProcess: (file: AbsPath) => number | undefined;
  readonly readyMs: number;
}

/** From its start until all of its mounts are in place. */
export const READY_MS = 5_000;
const LOOK_EVERY_MS = 20;
/** How long a box that has been told to end without a call may take to do so by itself. */
const LEAVE_MS = 2_000;

export class WaitingBox {
  readonly #options: WaitingBoxOptions;
  /** What was on the host before the start; undefined: not what the box was laid out for, and nothing was started. */
  readonly #placesAtStart: string | undefined;
  readonly #settled = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #child: BoxChild | undefined;
  /** Whoever hears the box once it has its call. */
  #events: BoxEvents | undefined;
  #isGone = false;
  #isComplete = false;
  #isDismissed = false;

  constructor(options: WaitingBoxOptions) {
    this.#options = options;
    this.#placesAtStart = lookAtHost(options.contents);
    if (this.#placesAtStart === undefined) {
      this.#onGone();
      this.#ended.resolve();
      return;
    }
    const starting = startChild(options.launch, null, {
      onOutput: (chunk) => this.#onOutput(chunk),
      onError: (problem) => {
        this.#onGone();
        this.#events?.onError(problem);
      },
      onClose: (status, killedBy) => {
        this.#onGone();
        this.#events?.onClose(status, killedBy);
      },
    });
    if (starting.kind === "unstarted") {
      this.#onGone();
      this.#ended.resolve(starting.problem.then(() => undefined));
      return;
    }
    this.#child = starting.box;
    this.#ended.resolve(starting.box.ended);
    starting.box.after(options.readyMs, () => this.#settled.resolve(false));
    this.#lookUntilReady(starting.box);
  }

  /** Resolves once nothing of it is left. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Whether it has ended, or could not be started. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether it was told to end without a call. */
  get isDismissed(): boolean {
    return this.#isDismissed;
  }

  /** Whether all of its mounts have been seen in place. */
  get isComplete(): boolean {
    return this.#isComplete && !this.#isGone;
  }

  /** Resolves to true once it is complete, or to false when it never will be or has had the time for it. Never rejects. */
  get ready(): Promise<boolean> {
    return this.#settled.promise;
  }

  /** The same, but at once when the signal aborts: then it's to be dismissed. */
  async readyOr(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const onAbort = (): void => resolve();
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    await Promise.race([this.ready, promise]);
    signal.removeEventListener("abort", onAbort);
  }

  /**
   * Whether it is, this very moment, what a box that is started now for these contents would be. To be called in the same step as
   * {@link WaitingBox.serve}.
   */
  fits(contents: BoxContents): boolean {
    const own = this.#options.contents;
    if (this.#isGone || this.#child === undefined || JSON.stringify(own) !== JSON.stringify(contents)) return false;
    if (lookAtHost(own) !== this.#placesAtStart) return false;
    const first = this.#firstProcess(this.#child);
    return first !== undefined && hasItsFittings(first, own);
  }

  /** Gives it its one call. */
  serve(input: Buffer, events: BoxEvents): Starting {
    if (this.#child === undefined) return { kind: "unstarted", problem: Promise.resolve("the box was not started") };
    this.#events = events;
    this.#child.give(input);
    return { kind: "started", box: this.#child };
  }

  /** Ends it without a call. */
  dismiss(): void {
    this.#isDismissed = true;
    this.#settled.resolve(false);
    const child = this.#child;
    // Its input ends: it leaves by itself, which costs less than to kill it.
    child?.give(Buffer.alloc(0));
    child?.after(LEAVE_MS, () => child.stop());
  }

  #onOutput(chunk: Buffer): void {
    if (this.#events !== undefined) {
      this.#events.onOutput(chunk);
      return;
    }
    // Nobody has asked it anything.
    this.#isGone = true;
    this.#settled.resolve(false);
    this.#child?.stop();
  }

  #onGone(): void {
    this.#isGone = true;
    this.#settled.resolve(false);
  }

  #firstProcess(child: BoxChild): number | undefined {
    const { launch, readProcess } = this.#options;
    return launch.processFile === null ? child.firstProcess : readProcess(launch.processFile);
  }

  #lookUntilReady(child: BoxChild): void {
    if (this.#isGone) return;
    const first = this.#firstProcess(child);
    if (first !== undefined && hasItsFittings(first, this.#options.contents)) {
      this.#isComplete = true;
      this.#settled.resolve(true);
      return;
    }
    child.after(LOOK_EVERY_MS, () => this.#lookUntilReady(child));
  }
}
