/** A clock far ahead of the file system's, whose sleeps pass at once: the grant store finds every directory long settled. */
import type { Clock } from "@boxmaker/edge/log";

export class HurriedClock implements Clock {
  #passed = 0;

  now(): number {
    return Date.UTC(2100, 0, 1) + this.#passed;
  }

  monotonic(): number {
    return this.#passed;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#passed += ms;
  }
}
