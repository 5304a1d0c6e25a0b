/**
 * The threads that verify stretches of a log. They can be started before what judges the log is loaded, which takes a second processor's
 * first half second; so nothing of that is imported here.
 */
import { readdir, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { StretchResult, StretchWork } from "./take-stretches.ts";

/** A thread takes a tenth of a second to start, in which another reads some ten megabytes. */
export const MIN_PARALLEL_BYTES = 32 * 1024 * 1024;
/** For what a thread makes of a line and forgets at the next. */
const MAX_YOUNG_MB = 4;

/** How many bytes the days of a log have together; 0 where that can't be told, which those who read it will say. */
async function sizeOf(directory: string): Promise<number> {
  try {
    const names = (await readdir(directory)).filter((name) => name.endsWith(".jsonl"));
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch {
    // Whether there are threads is no part of what a log is judged to be.
    return 0;
  }
}

interface StretchThread {
  readonly worker: Worker;
  readonly ended: Promise<void>;
}

function startThread(): StretchThread {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  // The source and the compiled package have different endings.
  const worker = new Worker(new URL(`./stretch-worker${extname(import.meta.url)}`, import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
  });
  worker.once("error", reject).once("exit", () => resolve());
  // Whoever gives it work hears of its end; without work nobody needs to.
  ended.catch(() => undefined);
  return { worker, ended };
}

/** Threads beside this one, for one log. Disposing of them ends them. */
export class StretchThreads implements AsyncDisposable {
  readonly #threads: readonly StretchThread[];

  private constructor(threads: readonly StretchThread[]) {
    this.#threads = threads;
  }

  /** So many threads. */
  static start(count: number): StretchThreads {
    return new StretchThreads(Array.from({ length: count }, startThread));
  }

  /** As many as the log in this directory is worth: none for a short one, or where there is one processor. */
  static async startFor(directory: string): Promise<StretchThreads> {
    return StretchThreads.start((await sizeOf(directory)) < MIN_PARALLEL_BYTES ? 0 : availableParallelism() - 1);
  }

  /** How many there are. */
  get size(): number {
    return this.#threads.length;
  }

  /** Lets all of them work, once, until no stretch is left. Resolves when they have ended, however that came. */
  async work(work: StretchWork, onResult: (result: StretchResult) => void): Promise<void> {
    const ends = this.#threads.map(({ worker, ended }) => {
      worker.on("message", onResult);
      worker.postMessage(work);
      return ended;
    });
    // What a thread leaves unread when it can't go on, reading the log in turn reads.
    await Promise.allSettled(ends);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }
}
