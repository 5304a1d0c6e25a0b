/** The messages that arrive on one connection, in order, whatever the pieces they came in. */
import type { Socket } from "node:net";
import { type AnyMessage, type Decoded, decodeMessage, FrameDecoder } from "@boxmaker/proto";
import type { z } from "zod";
import type { ByteBudget } from "./byte-budget.ts";

/** What reading the next message ended in. After anything but `message`, nothing more comes. */
export type Incoming<M> =
  | Decoded<M>
  | { readonly kind: "closed" }
  | { readonly kind: "truncated" }
  | { readonly kind: "too_large"; readonly detail: string }
  | { readonly kind: "over_budget" };

/**
 * Reads messages of one schema from a connection. Frames that arrived before the peer closed or failed are still delivered. While one
 * waits to be taken the peer is made to wait, so at most a frame and what came with it is held; it counts against `budget` until
 * the connection has closed.
 *
 * Owns the socket's data and end events, and nothing else of it.
 */
export class MessageStream<M extends AnyMessage> {
  readonly #socket: Socket;
  readonly #schema: z.ZodType<M>;
  readonly #decoder = new FrameDecoder();
  readonly #ready: Incoming<M>[] = [];
  readonly #budget: ByteBudget | undefined;
  #held = 0;
  #wake: (() => void) | undefined;
  #ended = false;

  constructor(socket: Socket, schema: z.ZodType<M>, budget?: ByteBudget) {
    this.#socket = socket;
    this.#schema = schema;
    this.#budget = budget;
    socket.on("data", (chunk: Buffer) => this.#accept(chunk));
    socket.once("end", () => this.#finish());
    socket.once("close", () => {
      this.#budget?.give(this.#held);
      this.#held = 0;
      this.#finish();
    });
  }

  /** Whether anything has arrived that wasn't taken, part of a frame included. */
  get hasMore(): boolean {
    return this.#ready.length > 0 || this.#decoder.end() === "truncated";
  }

  /** The next message, or why there is none. Called again after the end, it says `closed`. */
  async next(): Promise<Incoming<M>> {
    for (;;) {
      const first = this.#ready.shift();
      if (first !== undefined) {
        if (this.#ready.length === 0) this.#socket.resume();
        return first;
      }
      if (this.#ended) return { kind: "closed" };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #accept(chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#budget?.take(chunk.length) === false) {
      this.#ended = true;
      this.#ready.push({ kind: "over_budget" });
      this.#notify();
      return;
    }
    this.#held += chunk.length;
    this.#decoder.push(chunk);
    for (;;) {
      const step = this.#decoder.next();
      if (step.kind === "incomplete") break;
      const incoming: Incoming<M> =
        step.kind === "frame"
          ? decodeMessage(this.#schema, step.body)
          : { kind: "too_large", detail: `a frame of ${step.length} bytes` };
      this.#ready.push(incoming);
      if (incoming.kind !== "message") {
        this.#ended = true;
        break;
      }
    }
    if (this.#ready.length > 0 && !this.#ended) this.#socket.pause();
    this.#notify();
  }

  #finish(): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#ready.push({ kind: this.#decoder.end() });
    }
    this.#notify();
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
