/** The server's slots: what each holds, who uses it, and who waits for it. */
import { commonPrefix, tokenize } from "../tokens/tokenize.ts";

/** Two requests on one slot at a time: the original would silently spoil the first, so this is a client's fault. */
export interface Overlap {
  readonly kind: "overlap";
  readonly slot: number;
  /** Number of the request that has or awaits the slot. */
  readonly running: number;
  /** Number of the request that came to it. */
  readonly arrived: number;
}

/**
 * What the original's settings make of its caches. `per-slot` (`-np N --cache-ram 0`): each slot keeps what it holds. `with-ram` (`-np N`):
 * what a slot loses is kept in memory, and loaded over a slot that holds anything. `unified` (no `-np`): besides, a request on one slot
 * empties every idle one.
 */
export type CacheBehaviour = "per-slot" | "with-ram" | "unified";

/** A slot's use by one request. */
export interface Lease {
  readonly slot: number;
  /** Tokens of the prompt that the slot held already. */
  readonly cached: number;
  /** Tokens of the prompt that had to be read: at least one. */
  readonly read: number;
  /** Frees the slot, which then holds the tokens of `text`. */
  release(text: string): void;
}

interface Slot {
  readonly id: number;
  tokens: readonly string[];
  lastTask: number | null;
  cached: number;
  read: number;
  holder: number | null;
  readonly waiting: { readonly request: number; readonly grant: () => void }[];
}

/** All slots of a server. */
export class Slots {
  readonly #slots: readonly Slot[];
  readonly #contextTokens: number;
  readonly #overlaps: Overlap[] = [];
  readonly #behaviour: CacheBehaviour;
  readonly #saved: (readonly string[])[] = [];

  /** `count` slots of `contextTokens` tokens each. */
  constructor(count: number, contextTokens: number, behaviour: CacheBehaviour) {
    this.#contextTokens = contextTokens;
    this.#behaviour = behaviour;
    this.#slots = Array.from({ length: count }, (_, id) => ({
      id,
      tokens: [],
      lastTask: null,
      cached: 0,
      read: 0,
      holder: null,
      waiting: [],
    }));
  }

  get count(): number {
    return this.#slots.length;
  }

  /** Tokens that one slot has room for. */
  get contextTokens(): number {
    return this.#contextTokens;
  }

  /** The overlaps so far, oldest first. */
  get overlaps(): readonly Overlap[] {
    return this.#overlaps;
  }

  /** Empties a slot, as another conversation on it would. */
  forget(id: number): void {
    this.#at(id).tokens = [];
  }

  /**
   * Takes a slot for `request`: the one named by `idSlot`, modulo their number as in the original, or for -1 and undefined the free one
   * that holds most of `prompt`. Waits in order behind others; undefined if `signal` aborts first.
   */
  async take(request: number, idSlot: number | undefined, prompt: string, signal: AbortSignal): Promise<Lease | undefined> {
    const tokens = tokenize(prompt);
    const slot = idSlot === undefined || idSlot < 0 ? this.#best(tokens) : this.#at(idSlot % this.#slots.length);
    if (slot.holder !== null) {
      this.#overlaps.push({ kind: "overlap", slot: slot.id, running: slot.holder, arrived: request });
      await this.#turn(slot, request, signal);
    }
    if (signal.aborted) {
      if (slot.holder === request) {
        next(slot);
      }
      return undefined;
    }
    slot.holder = request;
    slot.lastTask = request;
    this.#useSaved(slot, tokens);
    slot.cached = Math.min(commonPrefix(slot.tokens, tokens), tokens.length - 1);
    slot.read = tokens.length - slot.cached;
    slot.tokens = tokens;
    const release = (text: string): void => {
      if (slot.holder === request) {
        slot.tokens = tokenize(text);
        next(slot);
      }
    };
    return { slot: slot.id, cached: slot.cached, read: slot.read, release };
  }

  /** The body of `GET /slots`. */
  report(): readonly object[] {
    return this.#slots.map((slot) => {
      const idle = { id: slot.id, n_ctx: this.#contextTokens, speculative: false, is_processing: slot.holder !== null };
      return slot.lastTask === null
        ? idle
        : {
            ...idle,
            id_task: slot.lastTask,
            n_prompt_tokens: slot.tokens.length,
            n_prompt_tokens_processed: slot.read,
            n_prompt_tokens_cache: slot.cached,
            params: {},
            next_token: [{ has_next_token: slot.holder !== null, has_new_line: false, n_remain: -1, n_decoded: 0 }],
          };
    });
  }

  #useSaved(slot: Slot, tokens: readonly string[]): void {
    if (this.#behaviour === "per-slot") {
      return;
    }
    if (this.#behaviour === "unified") {
      for (const other of this.#slots.filter(({ id, holder }) => id !== slot.id && holder === null)) {
        this.#saved.push(other.tokens);
        other.tokens = [];
      }
    }
    // An empty slot never looks: the original divides by its length.
    if (slot.tokens.length === 0) {
      return;
    }
    this.#saved.push(slot.tokens);
    slot.tokens = this.#saved.reduce((best, saved) => (commonPrefix(saved, tokens) > commonPrefix(best, tokens) ? saved : best));
  }

  async #turn(slot: Slot, request: number, signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<undefined>();
    const grant = (): void => turn.resolve(undefined);
    slot.waiting.push({ request, grant });
    const leave = (): void => {
      const place = slot.waiting.findIndex((waiter) => waiter.request === request);
      if (place !== -1) {
        slot.waiting.splice(place, 1);
      }
      grant();
    };
    signal.addEventListener("abort", leave);
    if (signal.aborted) {
      leave();
    }
    await turn.promise;
    signal.removeEventListener("abort", leave);
  }

  #best(tokens: readonly string[]): Slot {
    const free = this.#slots.filter((slot) => slot.holder === null);
    const candidates = free.length === 0 ? this.#slots : free;
    return candidates.reduce((best, slot) => (commonPrefix(slot.tokens, tokens) > commonPrefix(best.tokens, tokens) ? slot : best));
  }

  #at(id: number): Slot {
    const slot = this.#slots[id];
    if (slot === undefined) {
      throw new RangeError(`no slot ${id}, there are ${this.#slots.length}`);
    }
    return slot;
  }
}

/** Passes the slot to who waits first, without a moment in which it is free. */
function next(slot: Slot): void {
  const waiter = slot.waiting.shift();
  slot.holder = waiter?.request ?? null;
  waiter?.grant();
}
