/** Text that comes in pieces and is passed on in pieces that are each well-formed Unicode. */

const HIGH_SURROGATE_END = /[\ud800-\udbff]$/u;

/** Keeps the whole text; half a character at the end of a piece waits for its other half. */
export class TextFeed {
  readonly #onText: (text: string) => void;
  readonly #parts: string[] = [];
  #held = "";
  #empty = true;

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  /** Everything passed on so far. */
  get text(): string {
    if (this.#parts.length > 1) this.#parts.splice(0, this.#parts.length, this.#parts.join(""));
    return this.#parts[0] ?? "";
  }

  /** Whether anything was passed on. */
  get isEmpty(): boolean {
    return this.#empty;
  }

  push(piece: string): void {
    const text = this.#held + piece;
    const ends = HIGH_SURROGATE_END.test(text);
    this.#held = ends ? text.slice(-1) : "";
    this.#pass(ends ? text.slice(0, -1) : text);
  }

  /** Nothing more comes: a half character that waits is passed on as U+FFFD. */
  end(): void {
    this.#pass(this.#held);
    this.#held = "";
  }

  #pass(text: string): void {
    if (text === "") return;
    const wellFormed = text.toWellFormed();
    this.#empty = false;
    this.#parts.push(wellFormed);
    this.#onText(wellFormed);
  }
}
