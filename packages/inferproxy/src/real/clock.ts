/** The one place where this program reads the machine's clocks. */

/** What the program needs of time; tests give one that they move by hand. */
export interface Clock {
  /** Whole milliseconds since some fixed moment; never goes back. */
  monotonicMs(): number;
  /** The wall-clock time as RFC 3339 in UTC, for log lines. */
  time(): string;
  /** Calls `callback` once after `delayMs` milliseconds, unless the result is disposed of first; doesn't keep the process alive. */
  after(delayMs: number, callback: () => void): Disposable;
}

/** The machine's own clocks. */
export const realClock: Clock = {
  monotonicMs: () => Math.floor(performance.now()),
  time: () => new Date().toISOString(),
  after: (delayMs, callback) => setTimeout(callback, delayMs).unref(),
};
