/** The asks that wait for their owner. Whoever takes an entry answers it, so that every race has exactly one winner. */
import type { ApprovalId, SessionId } from "@boxmaker/proto";
import type { Ask } from "../policy/decision.ts";

/** One waiting ask. `expiresAt` is inclusive: at that millisecond it is expired. */
export interface PendingAsk<T> {
  readonly id: ApprovalId;
  readonly session: SessionId;
  readonly ask: Ask;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly expiresAt: number;
  /** Hands the answer to the waiting call. Called by who took the entry, once. */
  readonly resolve: (answer: T) => void;
}

export type ApprovalChange = "pending" | "approved" | "refused" | "expired" | "gone";

/** Told of each change, in order. Must not throw. */
export type ApprovalListener = (approval: ApprovalId, change: ApprovalChange) => void;

export class ApprovalTable<T> {
  readonly #entries = new Map<ApprovalId, PendingAsk<T>>();
  readonly #listeners = new Set<ApprovalListener>();
  readonly #maxPending: number;

  constructor(maxPending: number) {
    this.#maxPending = maxPending;
  }

  /** Whether one more ask of this session may wait: at most one a session, and a bounded number in all. */
  hasRoom(session: SessionId): boolean {
    return this.#entries.size < this.#maxPending && !this.list().some((entry) => entry.session === session);
  }

  add(entry: PendingAsk<T>): void {
    this.#entries.set(entry.id, entry);
    this.#tell(entry.id, "pending");
  }

  /** Looks without taking. */
  get(id: ApprovalId): PendingAsk<T> | undefined {
    return this.#entries.get(id);
  }

  /** Takes the entry: from here on it is the caller's to answer. `undefined` where somebody else has taken it. */
  take(id: ApprovalId, change: Exclude<ApprovalChange, "pending">): PendingAsk<T> | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#tell(id, change);
    return entry;
  }

  /** Puts a newer ask in the place of one whose call would now have another effect; the old one can't be approved any more. */
  replace(id: ApprovalId, ask: Ask): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.#entries.set(id, { ...entry, ask });
  }

  /** All waiting asks, oldest first. */
  list(): readonly PendingAsk<T>[] {
    return [...this.#entries.values()];
  }

  get size(): number {
    return this.#entries.size;
  }

  /** @returns the function that ends the subscription */
  subscribe(listener: ApprovalListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(id: ApprovalId, change: ApprovalChange): void {
    for (const listener of this.#listeners) listener(id, change);
  }
}
