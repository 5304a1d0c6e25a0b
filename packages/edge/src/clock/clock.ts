/** Time, as a seam: what depends on it takes a clock, so that tests decide what time it is. */
import { setTimeout as delay } from "node:timers/promises";

/** Wall time, a time that never goes back, and waiting. */
export interface Clock {
  /** Whole milliseconds since 1970-01-01T00:00:00Z. May be set back by the owner. */
  now(): number;
  /** Milliseconds since some fixed point; never goes back. */
  monotonic(): number;
  /** Waits at least `ms` milliseconds; rejects when the signal aborts first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal });
  },
};
