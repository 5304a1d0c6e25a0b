/** One request in flight per slot: a second one can corrupt the first inside the server. */
import type { OnModelEvent } from "./completion.ts";

/** The right to use a slot. Releasing it lets the next one in; releasing twice does nothing. */
export interface Permit {
  release(): void;
}

interface Waiter {
  readonly enter: () => void;
  readonly tell: (ahead: number) => void;
}

interface Line {
  held: boolean;
  readonly waiting: Waiter[];
}

/** First come, first served, for each slot on its own; bounded. */
export class SlotGate {
  readonly #maxWaiting: number;
  readonly #lines = new Map<number, Line>();

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Waits for the slot, saying `queued` at first and whenever the place changes.
   *
   * @returns undefined when too many wait already
   * @throws the signal's reason when it aborts first
   */
  async acquire(slot: number, onEvent: OnModelEvent, signal: AbortSignal): Promise<Permit | undefined> {
    signal.throwIfAborted();
    const line = this.#lines.get(slot) ?? { held: false, waiting: [] };
    this.#lines.set(slot, line);
    if (!line.held) {
      line.held = true;
      return this.#permit(slot, line);
    }
    if (line.waiting.length >= this.#maxWaiting) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { enter: resolve, tell: (ahead) => onEvent({ event: "queued", ahead }) };
    const leave = (): void => {
      const place = line.waiting.indexOf(waiter);
      if (place === -1) return;
      line.waiting.splice(place, 1);
      tellPlaces(line, place);
      reject(signal.reason);
    };
    line.waiting.push(waiter);
    // Before the telling, which may be what makes the caller give up.
    signal.addEventListener("abort", leave, { once: true });
    try {
      waiter.tell(line.waiting.length);
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
    return this.#permit(slot, line);
  }

  #permit(slot: number, line: Line): Permit {
    let released = false;
    return {
      release: () => {
        if (released) return;
        released = true;
        const next = line.waiting.shift();
        if (next === undefined) {
          line.held = false;
          this.#lines.delete(slot);
          return;
        }
        // The slot goes over without ever being free, so that nobody can come in between.
        next.enter();
        tellPlaces(line, 0);
      },
    };
  }
}

function tellPlaces(line: Line, from: number): void {
  line.waiting.slice(from).forEach((waiter, place) => waiter.tell(from + place + 1));
}
