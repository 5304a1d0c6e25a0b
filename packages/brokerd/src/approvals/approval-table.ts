/** The asks that wait for their owner. Whoever takes an entry answers it, so that every race has exactly one winner. */
import type { Clock } from "@boxmaker/edge/log";
import type { Ask } from "@boxmaker/policy";
import type { ApprovalId, CallId, SessionId } from "@boxmaker/proto";
import type { AskRoom } from "../ledger/admission.ts";

/** Refusals in one turn after which an owner isn't asked again in it. */
const MAX_REFUSED = 2;

/** One waiting ask. */
export interface PendingAsk<T> {
  readonly id: ApprovalId;
  readonly session: SessionId;
  /** The number of the first call of its turn. */
  readonly turn: CallId;
  readonly ask: Ask;
  /** Milliseconds since 1970-01-01T00:00:00Z; inclusive: at that millisecond it is expired. */
  readonly expiresAt: number;
  /** The same on the clock that is never set back: it doesn't wait longer than it was told. */
  readonly deadline: number;
  /** Hands the answer to the waiting call. Called by who took the entry, once. */
  readonly resolve: (answer: T) => void;
}

export type ApprovalChange = "pending" | "approved" | "refused" | "expired" | "gone";

/** Told of each change, in order, with the ask as it is then, or was when it was taken. Must not throw. */
export type ApprovalListener = (changed: Pick<PendingAsk<never>, "id" | "ask">, change: ApprovalChange) => void;

export class ApprovalTable<T> implements AskRoom {
  readonly #entries = new Map<ApprovalId, PendingAsk<T>>();
  /** Sessions that have an ask here, or one that is being recorded. */
  readonly #sessions = new Set<SessionId>();
  /** What was refused last in each session: as much of it as an owner has been asked and has answered by hand. */
  readonly #refused = new Map<SessionId, { readonly turn: CallId; readonly count: number }>();
  readonly #listeners = new Set<ApprovalListener>();
  readonly #maxPending: number;
  readonly #clock: Pick<Clock, "now" | "monotonic">;

  constructor(maxPending: number, clock: Pick<Clock, "now" | "monotonic">) {
    this.#maxPending = maxPending;
    this.#clock = clock;
  }

  /**
   * Whether one more ask of this session may wait: at most one a session, a bounded number in all, and none where enough of the same turn
   * have been refused.
   */
  hasRoom(session: SessionId, turn: CallId): boolean {
    const refused = this.#refused.get(session);
    if (refused?.turn === turn && refused.count >= MAX_REFUSED) return false;
    return this.#sessions.size < this.#maxPending && !this.#sessions.has(session);
  }

  /** Keeps the session's place for an ask, until the function that is returned is called. */
  reserve(session: SessionId): () => void {
    this.#sessions.add(session);
    let isHeld = true;
    return () => {
      if (isHeld) this.#sessions.delete(session);
      isHeld = false;
    };
  }

  /** @throws {Error} when an ask of this number waits already: its waiter would never be answered */
  add(entry: PendingAsk<T>): void {
    if (this.#entries.has(entry.id)) throw new Error("expected an approval id that is not in use");
    this.#entries.set(entry.id, entry);
    this.#tell(entry, "pending");
  }

  /** Looks without taking. `undefined` where it has expired, though nobody has come to say so. */
  get(id: ApprovalId): PendingAsk<T> | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || this.#timeLeft(entry) <= 0 ? undefined : entry;
  }

  /**
   * Takes the entry: from here on it is the caller's to answer. `undefined` where somebody else has taken it, or where it has expired
   * and the answer would be an owner's.
   */
  take(id: ApprovalId, change: Exclude<ApprovalChange, "pending">): PendingAsk<T> | undefined {
    const isAnswer = change === "approved" || change === "refused";
    const entry = isAnswer ? this.get(id) : this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    if (change === "refused") this.#countRefused(entry);
    this.#tell(entry, change);
    return entry;
  }

  /** Puts a newer ask in the place of one whose call would now have another effect; the old one can't be approved any more. */
  replace(id: ApprovalId, ask: Ask): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const expiresAt = Math.min(entry.expiresAt, ask.expires ?? Number.POSITIVE_INFINITY);
    const newer = { ...entry, ask, expiresAt };
    this.#entries.set(id, newer);
    // Who shows it has to look again.
    this.#tell(newer, "pending");
  }

  /** All asks that can still be answered, oldest first. */
  list(): readonly PendingAsk<T>[] {
    return [...this.#entries.values()].filter((entry) => this.#timeLeft(entry) > 0);
  }

  /** The numbers of all entries, those that have expired but weren't taken included. */
  get ids(): readonly ApprovalId[] {
    return [...this.#entries.keys()];
  }

  /** The session of an entry. `undefined` where it was taken. */
  sessionOf(id: ApprovalId): SessionId | undefined {
    return this.#entries.get(id)?.session;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Milliseconds until the entry expires, 0 or less where it has. `undefined` where it was taken. */
  timeLeft(id: ApprovalId): number | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined ? undefined : this.#timeLeft(entry);
  }

  /** @returns the function that ends the subscription */
  subscribe(listener: ApprovalListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #countRefused({ session, turn }: PendingAsk<T>): void {
    const last = this.#refused.get(session);
    this.#refused.set(session, { turn, count: last?.turn === turn ? last.count + 1 : 1 });
  }

  #timeLeft({ expiresAt, deadline }: PendingAsk<T>): number {
    return Math.min(expiresAt - this.#clock.now(), deadline - this.#clock.monotonic());
  }

  #tell({ id, ask }: PendingAsk<T>, change: ApprovalChange): void {
    for (const listener of this.#listeners) listener({ id, ask }, change);
  }
}
