/** Frames: how messages are cut out of a byte stream. A frame is a 4-byte big-endian length and that many bytes of body. */

/** The largest body, in bytes (8 MiB). */
export const MAX_FRAME = 8 * 1024 * 1024;

const HEADER_BYTES = 4;

/**
 * Puts a length in front of a body.
 *
 * @throws {RangeError} when the body is larger than {@link MAX_FRAME}; callers bound what they send before they encode
 */
export function encodeFrame(body: string): Buffer {
  const length = Buffer.byteLength(body);
  if (length > MAX_FRAME) throw new RangeError(`expected a frame body of at most ${MAX_FRAME} bytes, got ${length}`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32BE(length, 0);
  frame.write(body, HEADER_BYTES);
  return frame;
}

/** What the decoder found so far. After `too_large` the stream can't be resumed. */
export type FrameStep =
  | { readonly kind: "frame"; readonly body: Buffer }
  | { readonly kind: "incomplete" }
  | { readonly kind: "too_large"; readonly length: number };

/** What the end of the stream means: `closed` between frames, `truncated` inside one. */
export type FrameEnd = "closed" | "truncated";

/**
 * Cuts frames out of chunks of any size. Does no I/O: push what was read, then call {@link FrameDecoder.next} until it says
 * `incomplete`.
 *
 * Memory: at most twice the bytes pushed and not yet taken, however small the pieces; a length above the limit is reported before
 * memory for its body is taken.
 */
export class FrameDecoder {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  /** @param maxBytes the largest body to accept, at most {@link MAX_FRAME} */
  constructor(maxBytes: number = MAX_FRAME) {
    this.#maxBytes = Math.min(maxBytes, MAX_FRAME);
  }

  /** Adds bytes that were read; they are copied. */
  push(chunk: Uint8Array): void {
    const held = this.#end - this.#start;
    if (this.#end + chunk.length > this.#buffer.length) {
      const capacity = Math.max(held + chunk.length, Math.min(2 * held, this.#maxBytes + HEADER_BYTES));
      const grown = Buffer.allocUnsafe(capacity);
      this.#buffer.copy(grown, 0, this.#start, this.#end);
      this.#buffer = grown;
      this.#start = 0;
      this.#end = held;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** The next whole frame, if there is one. The body is the caller's own copy. */
  next(): FrameStep {
    const held = this.#end - this.#start;
    if (held < HEADER_BYTES) return { kind: "incomplete" };
    const length = this.#buffer.readUInt32BE(this.#start);
    if (length > this.#maxBytes) return { kind: "too_large", length };
    if (held < HEADER_BYTES + length) return { kind: "incomplete" };
    const from = this.#start + HEADER_BYTES;
    const body = Buffer.from(this.#buffer.subarray(from, from + length));
    this.#start = from + length;
    if (this.#start === this.#end) {
      this.#buffer = Buffer.alloc(0);
      this.#start = 0;
      this.#end = 0;
    }
    return { kind: "frame", body };
  }

  /** What it means that the stream ended now. */
  end(): FrameEnd {
    return this.#end === this.#start ? "closed" : "truncated";
  }
}
