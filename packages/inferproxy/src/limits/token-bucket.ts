/** Bounds how fast new connections are taken. */
import type { Clock } from "@boxmaker/edge/log";

/** How many thousandths one token has: a rate per second is then a whole number of thousandths per millisecond. */
const THOUSANDTHS = 1000;

/** A bucket that starts full with `burst` tokens and gains `ratePerSecond` tokens a second, up to `burst`. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #ratePerSecond: number;
  readonly #capacity: number;
  #thousandths: number;
  #filledAtMs: number;

  /** Both `ratePerSecond` and `burst` are whole numbers of tokens, at least 1. */
  constructor(clock: Clock, ratePerSecond: number, burst: number) {
    this.#clock = clock;
    this.#ratePerSecond = ratePerSecond;
    this.#capacity = burst * THOUSANDTHS;
    this.#thousandths = this.#capacity;
    this.#filledAtMs = Math.floor(clock.monotonic());
  }

  /** Takes one token and returns true, or returns false and takes nothing when less than a whole one is left. */
  take(): boolean {
    // Whole milliseconds, so that what many small steps add up to isn't rounded.
    const nowMs = Math.floor(this.#clock.monotonic());
    // A clock that stands still or goes back gives nothing, and must not be charged for either.
    const elapsedMs = Math.max(0, nowMs - this.#filledAtMs);
    this.#filledAtMs = nowMs;
    this.#thousandths = Math.min(this.#capacity, this.#thousandths + elapsedMs * this.#ratePerSecond);
    if (this.#thousandths < THOUSANDTHS) {
      return false;
    }
    this.#thousandths -= THOUSANDTHS;
    return true;
  }
}
