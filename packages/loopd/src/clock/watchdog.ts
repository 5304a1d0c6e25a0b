/** Notices that nothing has happened for too long. */
import type { Clock } from "@boxmaker/edge/log";

/** Calls `onExpired` once when it hasn't been touched for `ms` milliseconds. Disposing ends the watch. */
export class Watchdog implements Disposable {
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #limitMs: number;
  #last: number;

  constructor(clock: Clock, ms: number, onExpired: () => void) {
    this.#clock = clock;
    this.#limitMs = ms;
    this.#last = clock.monotonic();
    this.#watch(onExpired).catch(() => {
      // The sleep was ended by disposing.
    });
  }

  /** Something happened: the time starts again. */
  touch(): void {
    this.#last = this.#clock.monotonic();
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  async #watch(onExpired: () => void): Promise<void> {
    for (;;) {
      const left = this.#last + this.#limitMs - this.#clock.monotonic();
      if (left <= 0) break;
      await this.#clock.sleep(Math.ceil(left), this.#stop.signal);
    }
    if (!this.#stop.signal.aborted) onExpired();
  }
}
