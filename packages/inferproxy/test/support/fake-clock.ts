/** A clock that tests move by hand. */
import type { Clock } from "@boxmaker/edge/log";

interface Sleep {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Starts at 2026-01-02T03:04:05.678Z. */
export class FakeClock implements Clock {
  #monotonicMs = 0;
  readonly #sleeps = new Set<Sleep>();

  now(): number {
    return Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  /** Resolves when exactly `count` sleeps are under way. */
  async asleep(count: number): Promise<void> {
    while (this.#sleeps.size !== count) await new Promise((resolve) => setImmediate(resolve));
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleep = { untilMs: this.#monotonicMs + ms, wake: resolve };
      this.#sleeps.add(sleep);
      signal.addEventListener("abort", () => {
        this.#sleeps.delete(sleep);
        reject(new Error("sleep aborted"));
      });
    });
  }

  /** How many sleeps are under way. */
  get sleeping(): number {
    return this.#sleeps.size;
  }

  /** Moves the monotonic time by `ms`, which may be negative, and wakes who is due. */
  advance(ms: number): void {
    this.#monotonicMs += ms;
    for (const sleep of this.#sleeps) {
      if (sleep.untilMs <= this.#monotonicMs) {
        this.#sleeps.delete(sleep);
        sleep.wake();
      }
    }
  }
}
