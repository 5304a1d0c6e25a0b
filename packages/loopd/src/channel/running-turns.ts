/** Which sessions have a turn running: one each, and so many in all. */
import type { Origin, SessionId } from "@boxmaker/proto";

/** A turn that runs. */
export interface RunningTurn {
  readonly origin: Origin;
  readonly signal: AbortSignal;
  /** The session is free again. Must be called before the final frame is sent; calling it twice does nothing. */
  release(): void;
}

export type TakenTurn =
  | { readonly kind: "taken"; readonly turn: RunningTurn }
  | { readonly kind: "session_busy" | "too_many" | "stopping" };

interface Entry {
  readonly origin: Origin;
  readonly controller: AbortController;
  readonly ended: PromiseWithResolvers<void>;
}

/** The turns of one loopd. */
export class RunningTurns {
  readonly #max: number;
  readonly #entries = new Map<SessionId, Entry>();
  #stopping = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes the session for a turn. At once: nothing is waited for. */
  take(session: SessionId, origin: Origin): TakenTurn {
    if (this.#stopping) return { kind: "stopping" };
    if (this.#entries.has(session)) return { kind: "session_busy" };
    if (this.#entries.size >= this.#max) return { kind: "too_many" };
    const entry: Entry = { origin, controller: new AbortController(), ended: Promise.withResolvers() };
    this.#entries.set(session, entry);
    const release = (): void => {
      if (this.#entries.get(session) === entry) this.#entries.delete(session);
      entry.ended.resolve();
    };
    return { kind: "taken", turn: { origin, signal: entry.controller.signal, release } };
  }

  get size(): number {
    return this.#entries.size;
  }

  isRunning(session: SessionId): boolean {
    return this.#entries.has(session);
  }

  /** Where the session's running turn came from, if one runs. */
  originOf(session: SessionId): Origin | undefined {
    return this.#entries.get(session)?.origin;
  }

  /** Asks the session's turn, if one runs, to end. */
  cancel(session: SessionId): void {
    this.#entries.get(session)?.controller.abort();
  }

  /** Takes no more turns, and asks those that run to end. Resolves when all have. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const running = [...this.#entries.values()];
    for (const { controller } of running) controller.abort();
    await Promise.all(running.map(({ ended }) => ended.promise));
  }
}
