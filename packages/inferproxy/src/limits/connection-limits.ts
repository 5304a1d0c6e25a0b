/** Decides whether a new connection is taken: first by rate, then by how many are open. */
import type { Clock } from "@boxmaker/edge/log";
import { TokenBucket } from "./token-bucket.ts";

/** The owner's limits; each is a whole number of at least 1. */
export interface Limits {
  /** Connections open at once. */
  readonly maxConnections: number;
  /** New connections a second, in the long run. */
  readonly ratePerSecond: number;
  /** New connections that may come at once after a quiet time. */
  readonly burst: number;
}

/** One open connection's place; freeing it a second time does nothing. */
export interface Place {
  free(): void;
}

/** What {@link ConnectionLimits.admit} says. */
export type Admission =
  | { readonly kind: "admitted"; readonly place: Place }
  /** `firstInRow` is false for a refusal that follows another of the same kind: a flood must not fill the log. */
  | { readonly kind: "refused"; readonly reason: "rate" | "connections"; readonly firstInRow: boolean };

/** The count of open connections and the bucket of new ones. */
export class ConnectionLimits {
  readonly #bucket: TokenBucket;
  readonly #maxConnections: number;
  #open = 0;
  #lastRefusal: "none" | "rate" | "connections" = "none";

  constructor(clock: Clock, limits: Limits) {
    this.#bucket = new TokenBucket(clock, limits.ratePerSecond, limits.burst);
    this.#maxConnections = limits.maxConnections;
  }

  /** Judges one new connection. A connection refused for the cap has used up its token. */
  admit(): Admission {
    if (!this.#bucket.take()) {
      return this.#refuse("rate");
    }
    if (this.#open >= this.#maxConnections) {
      return this.#refuse("connections");
    }
    this.#lastRefusal = "none";
    this.#open += 1;
    let taken = true;
    const free = (): void => {
      if (taken) {
        taken = false;
        this.#open -= 1;
      }
    };
    return { kind: "admitted", place: { free } };
  }

  #refuse(reason: "rate" | "connections"): Admission {
    const firstInRow = this.#lastRefusal !== reason;
    this.#lastRefusal = reason;
    return { kind: "refused", reason, firstInRow };
  }
}
