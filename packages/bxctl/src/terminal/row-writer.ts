/** Text in rows, each with a mark in front, so that text can't begin in the first column of a terminal. */
import { isWide, measureText, splitGraphemes } from "./text-width.ts";

const TAB = 8;
/** A mark may be wide for a narrow terminal; text gets this many columns all the same. */
const MIN_COLUMNS = 10;
/** Before a longer word is broken. It bounds what is held back of a stream. */
const MAX_WORD = 512;

/** How rows look. `first` begins each line of the text, `rest` the further rows of a line that is too long for one. */
export interface RowMarks {
  readonly first: string;
  readonly rest: string;
}

export interface RowOptions {
  readonly marks: RowMarks;
  /** Columns of the terminal, asked anew for each row; undefined: rows are as long as lines. */
  readonly columns: () => number | undefined;
  /** Takes each piece of a row. */
  readonly write: (text: string) => void;
  /** Makes the text (not the mark) dim, or nothing. */
  readonly style: (text: string) => string;
}

/**
 * Writes streamed text in rows, broken between words where it can. The text must be escaped already; the last word is held back
 * until it is known to have ended.
 */
export class RowWriter {
  readonly #options: RowOptions;
  #column = 0;
  #rowOpen = false;
  #word = "";

  constructor(options: RowOptions) {
    this.#options = options;
  }

  /** Adds text of any length. */
  push(text: string): void {
    if (this.#options.columns() === undefined) {
      this.#pushLines(text);
      return;
    }
    for (const piece of text.match(/[\n\t ]|[^\n\t ]+/gu) ?? []) {
      if (piece === "\n") this.#endLine();
      else if (piece === " ") this.#space(1);
      else if (piece === "\t") this.#space(TAB - ((this.#column + measureText(this.#word)) % TAB));
      else this.#letters(piece);
    }
  }

  /** Writes what is held back and ends the row, if one is open. */
  end(): void {
    this.#flushWord();
    if (this.#rowOpen) this.#options.write("\n");
    this.#rowOpen = false;
    this.#column = 0;
  }

  /** Where there is no terminal a row is a line, and nothing has to be measured. */
  #pushLines(text: string): void {
    const lines = text.split("\n");
    for (const [index, line] of lines.entries()) {
      if (line !== "") this.#put(line, 0);
      if (index < lines.length - 1) this.#endLine();
    }
  }

  #letters(piece: string): void {
    this.#word += piece;
    if (this.#word.length > MAX_WORD || isWide(this.#word)) {
      const parts = splitGraphemes(this.#word);
      // The last one may still grow: a combining mark can follow.
      this.#word = "";
      for (const part of parts.slice(0, -1)) {
        this.#word += part;
        if (isWide(part) || this.#word.length > MAX_WORD) this.#flushWord();
      }
      this.#word += parts.at(-1) ?? "";
    }
  }

  #room(): number {
    const columns = this.#options.columns();
    if (columns === undefined) return Number.POSITIVE_INFINITY;
    // One column is left free: a terminal that has written its last one may or may not be on the next row.
    return Math.max(MIN_COLUMNS, columns - measureText(this.#options.marks.first) - 1);
  }

  #open(mark: string): void {
    if (this.#rowOpen) return;
    this.#options.write(mark);
    this.#rowOpen = true;
  }

  #breakRow(): void {
    this.#options.write("\n");
    this.#rowOpen = false;
    this.#column = 0;
    this.#open(this.#options.marks.rest);
  }

  #put(text: string, width: number): void {
    this.#open(this.#options.marks.first);
    this.#options.write(this.#options.style(text));
    this.#column += width;
  }

  #flushWord(): void {
    const word = this.#word;
    if (word === "") return;
    this.#word = "";
    const width = measureText(word);
    const room = this.#room();
    if (this.#column > 0 && this.#column + width > room) this.#breakRow();
    if (width <= room) {
      this.#put(word, width);
      return;
    }
    let row = "";
    let rowWidth = 0;
    for (const grapheme of splitGraphemes(word)) {
      const next = measureText(grapheme);
      if (rowWidth + next > room) {
        this.#put(row, rowWidth);
        this.#breakRow();
        row = "";
        rowWidth = 0;
      }
      row += grapheme;
      rowWidth += next;
    }
    this.#put(row, rowWidth);
  }

  #space(width: number): void {
    this.#flushWord();
    const room = this.#room();
    if (this.#column + width <= room) this.#put(" ".repeat(width), width);
    else this.#breakRow();
  }

  #endLine(): void {
    this.#flushWord();
    this.#open(this.#options.marks.first);
    this.#options.write("\n");
    this.#rowOpen = false;
    this.#column = 0;
  }
}
