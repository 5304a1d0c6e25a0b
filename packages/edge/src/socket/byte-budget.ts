/** How many bytes the connections of one socket may make its server hold, all together. */

export class ByteBudget {
  readonly #maxBytes: () => number;
  #taken = 0;

  /** @param maxBytes asked at each taking; what is held already is never taken back */
  constructor(maxBytes: () => number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes room for bytes that have arrived. False, and nothing taken, where there isn't enough. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#maxBytes()) return false;
    this.#taken += bytes;
    return true;
  }

  /** Gives back what was taken. */
  give(bytes: number): void {
    this.#taken -= bytes;
  }

  /** Bytes that are held now. */
  get taken(): number {
    return this.#taken;
  }
}
