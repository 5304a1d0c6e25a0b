/** Escapes text that comes in pieces, which may be cut in the middle of a character. */
import { escapeLayoutText } from "@boxmaker/proto";

const OPEN_HALF = /[\ud800-\udbff]$/;

/** Keeps newline and tab, escapes everything else that could steer a terminal. A pair of surrogates may come in two pieces. */
export class DeltaEscaper {
  #half = "";

  /** The escaped text of this piece, without an open half of a pair at its end. */
  push(delta: string): string {
    const text = this.#half + delta;
    this.#half = OPEN_HALF.exec(text)?.[0] ?? "";
    return escapeLayoutText(text.slice(0, text.length - this.#half.length));
  }

  /** What is still held back, escaped: half a character is none. */
  end(): string {
    const rest = escapeLayoutText(this.#half);
    this.#half = "";
    return rest;
  }
}
