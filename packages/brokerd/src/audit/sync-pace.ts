/**
 * Whether the disk is quick enough to be waited for on the spot. The way to a thread and back costs a third of a quick sync; but while one
 * is waited for on the spot, nothing else is done.
 */

/** A sync that takes longer is slow. */
const QUICK_MS = 1;

/** How many quick syncs have to follow each millisecond of a slow one. */
const QUICK_PER_SLOW_MS = 4;

/** Knows how long the syncs of one disk took lately. */
export class SyncPace {
  /** How many quick syncs have to be seen before one is waited for. */
  #owed: number;

  /** @param owed of a disk that nothing is known of yet */
  constructor(owed = QUICK_PER_SLOW_MS) {
    this.#owed = owed;
  }

  /** Whether the next sync may be waited for on the spot. */
  get isQuick(): boolean {
    return this.#owed === 0;
  }

  /** A sync took `ms` milliseconds, wherever it was waited for. */
  took(ms: number): void {
    if (ms > QUICK_MS) this.#owed = Math.max(this.#owed, Math.ceil(ms * QUICK_PER_SLOW_MS));
    else if (this.#owed > 0) this.#owed--;
  }
}
