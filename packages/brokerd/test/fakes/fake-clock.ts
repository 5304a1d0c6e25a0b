/** A clock that stands still until a test moves it; sleepers wake when it has come to their time. */
import type { Clock } from "@boxmaker/edge/log";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

export class FakeClock implements Clock {
  time = Date.UTC(2026, 10, 29, 12);
  #monotonic = 1000;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(new Error("the wait was ended", { cause: signal.reason }));
        return;
      }
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(new Error("the wait was ended", { cause: signal.reason }));
      };
      const sleeper: Sleeper = {
        until: this.#monotonic + ms,
        wake: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.add(sleeper);
    });
  }

  /** Time passes, on both clocks. */
  advance(ms: number): void {
    this.time += ms;
    this.#monotonic += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.until > this.#monotonic) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }

  /** The owner sets the wall clock; no time passes. */
  set(time: number): void {
    this.time = time;
  }

  get sleepers(): number {
    return this.#sleepers.size;
  }
}
