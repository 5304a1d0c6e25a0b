/** A clock that tests move by hand. */
import type { Clock } from "../../src/real/clock.ts";

interface Alarm {
  readonly atMs: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #alarms = new Set<Alarm>();

  monotonicMs(): number {
    return this.#nowMs;
  }

  time(): string {
    return "2026-01-02T03:04:05.678Z";
  }

  after(delayMs: number, callback: () => void): Disposable {
    const alarm = { atMs: this.#nowMs + delayMs, callback };
    this.#alarms.add(alarm);
    return { [Symbol.dispose]: () => this.#alarms.delete(alarm) };
  }

  /** How many calls of `after` are still waiting. */
  get waiting(): number {
    return this.#alarms.size;
  }

  /** Moves the monotonic time by `ms`, which may be negative, and calls what is due. */
  advance(ms: number): void {
    this.#nowMs += ms;
    for (const alarm of this.#alarms) {
      if (alarm.atMs <= this.#nowMs) {
        this.#alarms.delete(alarm);
        alarm.callback();
      }
    }
  }
}
