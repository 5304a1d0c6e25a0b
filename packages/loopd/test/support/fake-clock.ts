/** A clock that a test moves. */
import type { Clock } from "@boxmaker/edge/log";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

export class FakeClock implements Clock {
  #time = 0;
  readonly #sleepers = new Set<Sleeper>();
  #onSleep: (() => void) | undefined;

  now(): number {
    return Date.UTC(2027, 0, 1) + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper: Sleeper = { until: this.#time + ms, wake: resolve };
    const leave = (): void => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    this.#sleepers.add(sleeper);
    this.#onSleep?.();
    try {
      await promise;
    } finally {
      this.#sleepers.delete(sleeper);
      signal.removeEventListener("abort", leave);
    }
  }

  /** Moves the time forward and wakes who has slept long enough, in order. */
  async advance(ms: number): Promise<void> {
    this.#time += ms;
    for (const sleeper of [...this.#sleepers].sort((a, b) => a.until - b.until)) {
      if (sleeper.until <= this.#time) sleeper.wake();
    }
    // Lets those who were woken go on before the caller looks.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Resolves when somebody sleeps for exactly this long. */
  async sleeping(ms: number): Promise<void> {
    while (![...this.#sleepers].some(({ until }) => until - this.#time === ms)) {
      await new Promise<void>((resolve) => {
        this.#onSleep = resolve;
      });
    }
  }
}
