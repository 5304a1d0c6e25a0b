/** How often something may happen in a span of time that moves along. */
import type { Clock } from "@boxmaker/edge/log";

export class RateLimit {
  readonly #count: number;
  readonly #spanMs: number;
  readonly #clock: Pick<Clock, "monotonic">;
  /** When it happened last, oldest first: as many times as it may at most. */
  #times: number[] = [];

  /** @param count how often it may happen within `spanMs` milliseconds */
  constructor(count: number, spanMs: number, clock: Pick<Clock, "monotonic">) {
    this.#count = count;
    this.#spanMs = spanMs;
    this.#clock = clock;
  }

  /** Whether it may happen now. */
  get isFree(): boolean {
    const since = this.#clock.monotonic() - this.#spanMs;
    const first = this.#times.findIndex((time) => time > since);
    this.#times = first === -1 ? [] : this.#times.slice(first);
    return this.#times.length < this.#count;
  }

  /** It happens. */
  take(): void {
    this.#times.push(this.#clock.monotonic());
  }
}
