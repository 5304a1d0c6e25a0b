/** Ends a thought that has gone on for too long: first by asking the server, then by stopping the request. */

/** `ask`: tell the server to end the thought. `stop`: it had its chance. */
export type CapStep = "none" | "ask" | "stop";

/** Servers end a thought at the cap by themselves where they can; this many tokens later they evidently didn't. */
const SERVER_GRACE = 16;

/** Counts the tokens of one reply's thought. */
export class ThinkingCap {
  readonly #cap: number;
  readonly #askAt: number;
  readonly #stopAt: number;
  #tokens = 0;
  #asked = false;

  /** @param cap tokens of thought; @param overrun more tokens until the reply is stopped */
  constructor(cap: number, overrun: number) {
    this.#cap = cap;
    this.#askAt = cap + SERVER_GRACE;
    this.#stopAt = cap + SERVER_GRACE + overrun;
  }

  /** Whether the thought reached the cap, so that it was ended by the server or on request, and not by the model. */
  get reached(): boolean {
    return this.#tokens + 1 >= this.#cap;
  }

  /** Takes the pieces of thought of one event. `ask` is said once. */
  count(pieces: number): CapStep {
    if (pieces === 0) return "none";
    this.#tokens += pieces;
    if (this.#tokens >= this.#stopAt) return "stop";
    if (this.#asked || this.#tokens < this.#askAt) return "none";
    this.#asked = true;
    return "ask";
  }
}
