/** The events of a turn on their way to a client that may read slowly, or not at all. */
import type { TurnEvent } from "@boxmaker/proto";

/** Sends one event; says whether the client still takes them. Never rejects. */
export type SendEvent = (event: TurnEvent) => Promise<"sent" | "gone">;

/** Events and text that may wait for one client; past either it is given up, and the turn goes on without it. */
const MAX_WAITING = 10_000;
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024;
/** Pieces of text that wait together are sent as one, up to this length. */
const MAX_JOINED = 64 * 1024;

function lengthOf(event: TurnEvent): number {
  return event.event === "text" || event.event === "reasoning" ? event.text.length : 0;
}

/** The two as one, where a client can't tell the difference or only the later one matters. */
function join(before: TurnEvent, after: TurnEvent): TurnEvent | undefined {
  if ((before.event === "text" && after.event === "text") || (before.event === "reasoning" && after.event === "reasoning")) {
    return before.text.length + after.text.length <= MAX_JOINED ? { ...before, text: before.text + after.text } : undefined;
  }
  const replaces = after.event === "progress" || after.event === "waiting" || after.event === "queued";
  return replaces && before.event === after.event ? after : undefined;
}

/** Takes events at once and sends them in order, one at a time. */
export class EventOutbox {
  readonly #send: SendEvent;
  readonly #onDropped: () => void;
  readonly #waiting: TurnEvent[] = [];
  #characters = 0;
  #sending: Promise<void> | undefined;
  #gone = false;

  /** @param onDropped called once, when the client is given up or has gone */
  constructor(send: SendEvent, onDropped: () => void) {
    this.#send = send;
    this.#onDropped = onDropped;
  }

  /** Takes one event. Never waits, never throws. */
  push(event: TurnEvent): void {
    if (this.#gone) return;
    const last = this.#waiting.at(-1);
    const joined = last === undefined ? undefined : join(last, event);
    if (joined === undefined) this.#waiting.push(event);
    else this.#waiting[this.#waiting.length - 1] = joined;
    this.#characters += lengthOf(event);
    if (this.#waiting.length > MAX_WAITING || this.#characters > MAX_WAITING_CHARACTERS) {
      this.#drop();
      return;
    }
    this.#sending ??= this.#sendAll();
  }

  /** Resolves when everything was sent, or the client is gone. */
  async drain(): Promise<"sent" | "gone"> {
    await this.#sending;
    return this.#gone ? "gone" : "sent";
  }

  async #sendAll(): Promise<void> {
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      this.#characters -= lengthOf(event);
      if ((await this.#send(event)) === "gone") this.#drop();
    }
    this.#sending = undefined;
  }

  #drop(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#waiting.length = 0;
    this.#characters = 0;
    this.#onDropped();
  }
}
