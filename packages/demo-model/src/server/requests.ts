/** What a server remembers of the requests that it got. */
import type { IncomingHttpHeaders } from "node:http";
import type { ChatRequest } from "../api/chat-request.ts";
import type { Overlap } from "../slots/slots.ts";

/** How an answer ended: sent to its end, cut by the script, or left by the client. */
export type AnswerEnd = "answered" | "cut" | "client-gone";

/** One request for a completion, as it came. */
export interface RecordedRequest {
  /** Counts the requests for completions from 0. */
  readonly index: number;
  readonly headers: IncomingHttpHeaders;
  /** The body's bytes, for tests that compare prefixes. */
  readonly body: Buffer;
  readonly chat: ChatRequest;
  /** Resolves when nothing more will be sent; the slot may be busy for longer. */
  readonly ended: Promise<AnswerEnd>;
}

/** A request for the end of a thought. */
export interface ControlRequest {
  readonly id: string;
  readonly action: string;
}

/** Something that a client must never do, or that a test's script didn't foresee. */
export type Violation =
  | Overlap
  | { readonly kind: "unscripted"; readonly request: number }
  /** A question to a router that would have loaded a model, and so may have ended one that was streaming. */
  | { readonly kind: "autoload"; readonly route: string };

/** A list that can be waited on. */
export class Journal<Entry> {
  readonly #entries: Entry[] = [];
  readonly #waiting: { readonly count: number; readonly resolve: (entry: Entry) => void }[] = [];

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    for (const waiter of this.#waiting) {
      if (waiter.count === this.#entries.length) {
        waiter.resolve(entry);
      }
    }
  }

  /** The entry number `count`, counted from 1, now or when it comes. */
  nth(count: number): Promise<Entry> {
    const there = this.#entries[count - 1];
    if (there !== undefined) {
      return Promise.resolve(there);
    }
    const waiting = Promise.withResolvers<Entry>();
    this.#waiting.push({ count, resolve: waiting.resolve });
    return waiting.promise;
  }
}
