/** Reads known numbers of bytes from a stream, and leaves the rest in it for whoever comes next. */
import type { Readable } from "node:stream";

const EVENTS = ["readable", "end", "close", "error"] as const;

/** Has the stream to itself until it is disposed. Every read ends when the signal aborts. */
export class ByteReader implements Disposable {
  readonly #stream: Readable;
  readonly #signal: AbortSignal;
  /** One for the reader's whole life: a new listener is called for bytes that are there already, however few they are. */
  readonly #onChange = (): void => this.#wake();
  #wake: () => void = () => undefined;

  constructor(stream: Readable, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    for (const event of EVENTS) stream.on(event, this.#onChange);
    signal.addEventListener("abort", this.#onChange);
  }

  /** `count` bytes (at least one), or undefined where the stream ends or the signal aborts before they are there. */
  async read(count: number): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#signal.aborted || this.#stream.destroyed) return undefined;
      const changed = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const chunk: unknown = this.#stream.read(count);
      if (Buffer.isBuffer(chunk)) return chunk.length === count ? chunk : undefined;
      if (this.#stream.readableEnded) return undefined;
      await changed;
    }
  }

  [Symbol.dispose](): void {
    for (const event of EVENTS) this.#stream.removeListener(event, this.#onChange);
    this.#signal.removeEventListener("abort", this.#onChange);
  }
}
