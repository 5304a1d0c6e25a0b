/**
 * Boxes that were started ahead: after a call the same box is started once more, since a session tends to repeat itself. Each serves
 * one call of the same session, tool and grant, and is never used again.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { AbsPath } from "@boxmaker/proto";
import type { BoxContents } from "../box-contents.ts";
import type { RunSpec } from "../run-spec.ts";
import { type RunnerConfig, timeLimitMs } from "../runner-config.ts";
import { type AheadLaunch, READY_MS, WaitingBox } from "./waiting-box.ts";

export interface AheadLauncher {
  /**
   * How a box is started that waits for its call.
   *
   * @param lifeMs how old it gets at most, its call included
   * @param processFile where a program that is asked to writes which process is the first in the box
   */
  launchAhead(contents: BoxContents, lifeMs: number, processFile: AbsPath): AheadLaunch;
}

export interface BoxPoolOptions {
  readonly launcher: AheadLauncher;
  readonly config: RunnerConfig;
  /** Of the pool's own: see {@link sweepPoolDirectory}. */
  readonly directory: AbsPath;
  /** From a box's start until its mounts are in place; {@link READY_MS} unless given. */
  readonly readyMs?: number;
}

/** After a box has ended, until the next one is started: the reply, which waits for its record, goes out meanwhile. */
const PAUSE_MS = 50;
/** So many boxes in a row that can't be seen to be complete, and no more are started: calls would only wait for them. */
const MAX_FAILED = 3;
const PROCESS = /^[1-9][0-9]{0,9}$/u;

/** Makes the directory of the pool, without anything that an earlier brokerd left. */
export async function sweepPoolDirectory(runner: AbsPath): Promise<AbsPath> {
  const directory = AbsPath.parse(`${runner}/pool`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { mode: 0o700 });
  return directory;
}

/** Everything that a box is made from, but for the arguments, which it gets with its call. */
function keyOf({ session, request, grantSha256, plan, masked }: RunSpec): string {
  return JSON.stringify([session, request.tool, grantSha256, plan, masked]);
}

function readProcess(file: AbsPath): number | undefined {
  try {
    const text = readFileSync(file, "latin1").trim();
    return PROCESS.test(text) ? Number(text) : undefined;
  } catch {
    // Not written yet.
    return undefined;
  }
}

export class BoxPool implements AsyncDisposable {
  readonly #options: BoxPoolOptions;
  /** Those that may serve a call, the one that was started first in front. */
  readonly #waiting = new Map<string, WaitingBox>();
  /** All that have begun and not ended without a call. */
  readonly #unused = new Set<WaitingBox>();
  /** Goes up when nothing that was planned so far is to be started any more. */
  #era = 0;
  #isClosed = false;
  #served = 0;
  /** Boxes in a row that weren't complete in time. */
  #failed = 0;

  constructor(options: BoxPoolOptions) {
    this.#options = options;
  }

  /** Boxes that wait for a call. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Those of them that have been seen to be complete. */
  get complete(): number {
    return [...this.#waiting.values()].filter(({ isComplete }) => isComplete).length;
  }

  /** Calls that have had a box from here. */
  get served(): number {
    return this.#served;
  }

  /** Takes the box for such a call out of the pool, if there is one. Whoever takes it has it serve or dismisses it. */
  claim(spec: RunSpec): WaitingBox | undefined {
    const key = keyOf(spec);
    const box = this.#waiting.get(key);
    this.#waiting.delete(key);
    return box;
  }

  /** To be told when a box that was taken begins to serve. */
  onServed(box: WaitingBox): void {
    this.#unused.delete(box);
    this.#served++;
  }

  /** Ends boxes, the one that waits longest first, until there are no more than `max_boxes` with those that run a call. */
  makeRoom(running: number): void {
    for (const [key, box] of this.#waiting) {
      if (running + this.#waiting.size <= this.#options.config.max_boxes) return;
      this.#drop(key, box);
    }
  }

  /**
   * Starts a box for the next call like this one, which has been answered and whose box has ended, unless the grants change before.
   *
   * @param running tells how many boxes run a call
   */
  startAfter(spec: RunSpec, contents: BoxContents, running: () => number): void {
    const { pool } = this.#options.config;
    if (this.#isClosed || pool === 0 || this.#failed >= MAX_FAILED) return;
    const era = this.#era;
    const start = (): void => {
      if (this.#era === era) this.#start(spec, contents, running());
    };
    AbortSignal.timeout(PAUSE_MS).addEventListener("abort", start, { once: true });
  }

  /** Ends all boxes that wait, and starts none that was to be started. */
  dropAll(): void {
    this.#era++;
    for (const [key, box] of this.#waiting) this.#drop(key, box);
  }

  /** Starts no more, and ends those that wait. */
  close(): void {
    this.#isClosed = true;
    this.dropAll();
  }

  /** Resolves when nothing is left of those that have served no call. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.all([...this.#unused].map(({ ended }) => ended));
  }

  #drop(key: string, box: WaitingBox): void {
    if (this.#waiting.get(key) === box) this.#waiting.delete(key);
    box.dismiss();
  }

  #start(spec: RunSpec, contents: BoxContents, running: number): void {
    const { launcher, config, directory, readyMs = READY_MS } = this.#options;
    const key = keyOf(spec);
    const older = this.#waiting.get(key);
    // Two calls at once have ended: one box waits for the next, the newer one behind whatever else has been used since.
    if (older !== undefined) {
      this.#waiting.delete(key);
      this.#waiting.set(key, older);
      return;
    }
    for (const [longest, box] of this.#waiting) {
      if (this.#waiting.size < config.pool) break;
      this.#drop(longest, box);
    }
    if (running + this.#unused.size >= config.max_boxes) return;
    const processFile = AbsPath.parse(`${directory}/${randomBytes(8).toString("hex")}`);
    // It is as old as it gets when its call begins at the last moment.
    const lifeMs = readyMs + config.pool_idle_ms + timeLimitMs(config, spec.request.tool);
    const launch = launcher.launchAhead(contents, lifeMs, processFile);
    const box = new WaitingBox({ launch, contents, readProcess, readyMs });
    if (box.isGone) return;
    this.#waiting.set(key, box);
    this.#unused.add(box);
    const onEnded = (): void => {
      this.#unused.delete(box);
      if (this.#waiting.get(key) === box) this.#waiting.delete(key);
      // The next start removes what can't be removed now.
      rm(processFile, { force: true }).catch(() => undefined);
    };
    box.ended.then(onEnded, onEnded);
    const onSettled = (isReady: boolean): void => {
      if (isReady) this.#failed = 0;
      else if (!box.isDismissed) this.#failed++;
      if (!isReady && this.#waiting.get(key) === box) this.#drop(key, box);
    };
    box.ready.then(onSettled, () => undefined);
    const onIdle = (): void => {
      if (this.#waiting.get(key) === box) this.#drop(key, box);
    };
    AbortSignal.timeout(config.pool_idle_ms).addEventListener("abort", onIdle, { once: true });
  }
}
