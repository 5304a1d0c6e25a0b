/** The one place where a command's output is written: lines in rows, blocks of streamed text, and a line that comes and goes. */
import { escapeLayoutText, escapeText } from "@boxmaker/proto";
import type { TextStream } from "../process-io.ts";
import { DeltaEscaper } from "./delta-escaper.ts";
import { type RowMarks, RowWriter } from "./row-writer.ts";
import { escapePrinted, isCapableTerminal, type Style, styleFor } from "./style.ts";
import { measureText, splitGraphemes } from "./text-width.ts";

const FALLBACK_COLUMNS = 80;
const ERASE_ROW = "\r\u001b[K";
// What is wider than we think must not go on in the first column of the next row, where prompts begin (DECAWM).
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";

/** A block of text that is still being written. */
export interface OpenBlock {
  /** Adds text as it came from a model or a peer: it is escaped here. */
  push(text: string): void;
  end(): void;
}

function same(text: string): string {
  return text;
}

/**
 * Writes to one stream. What is written by others is escaped where it is put into a line, which knows where it ends; whatever comes here
 * is escaped once more, so that a line that forgot to can't steer a terminal either.
 */
export class Screen {
  readonly #stream: TextStream;
  readonly #capable: boolean;
  readonly style: Style;
  #statusShown = false;
  /** Ends the row that a block is being written on. */
  #endRow: () => void = () => undefined;

  constructor(stream: TextStream, env: Readonly<Record<string, string | undefined>>) {
    this.#stream = stream;
    this.#capable = isCapableTerminal(stream, env);
    this.style = styleFor(stream, env);
  }

  /** Whether a person looks at it: what a model wrote is marked there. */
  get isTerminal(): boolean {
    return this.#stream.isTTY === true;
  }

  /** Columns of the terminal; undefined where there is none. */
  get columns(): number | undefined {
    if (!this.isTerminal) return undefined;
    const { columns } = this.#stream;
    return columns === undefined || columns < 1 ? FALLBACK_COLUMNS : columns;
  }

  /** Writes text in no rows: for machines. */
  raw(text: string): void {
    this.#endRow();
    this.clearStatus();
    this.#stream.write(escapeLayoutText(text));
  }

  /** Writes one line; what doesn't fit on a terminal's row goes on indented. */
  line(text: string, marks: RowMarks = { first: "", rest: "  " }, style: (text: string) => string = same): void {
    this.#endRow();
    const { rows, flush } = this.#rows(marks, style);
    rows.push(escapePrinted(text, this.style));
    rows.push("\n");
    flush();
  }

  /** Starts a block of text of a model; each row begins with `mark`. */
  openBlock(mark: string, style: (text: string) => string = same): OpenBlock {
    this.#endRow();
    const { rows, flush } = this.#rows({ first: mark, rest: mark }, style);
    const escaper = new DeltaEscaper();
    const endRow = (): void => {
      rows.end();
      flush();
    };
    return {
      push: (text) => {
        rows.push(escaper.push(text));
        flush();
        this.#endRow = endRow;
      },
      end: () => {
        rows.push(escaper.end());
        endRow();
        this.#endRow = () => undefined;
      },
    };
  }

  /** Shows what is going on now, on a terminal only, until anything else is written. */
  status(text: string): void {
    if (!this.#capable) return;
    this.#endRow();
    let shown = "";
    let room = (this.columns ?? FALLBACK_COLUMNS) - 1;
    for (const grapheme of splitGraphemes(escapeText(text))) {
      room -= measureText(grapheme);
      if (room < 0) break;
      shown += grapheme;
    }
    this.#stream.write(`${ERASE_ROW}${NO_WRAP}${this.style.dim(shown)}${WRAP}`);
    this.#statusShown = true;
  }

  clearStatus(): void {
    if (this.#statusShown) this.#stream.write(ERASE_ROW);
    this.#statusShown = false;
  }

  #rows(marks: RowMarks, style: (text: string) => string): { readonly rows: RowWriter; readonly flush: () => void } {
    let pending = "";
    const rows = new RowWriter({
      marks,
      columns: () => this.columns,
      style,
      write: (text) => {
        pending += text;
      },
    });
    const flush = (): void => {
      if (pending === "") return;
      this.clearStatus();
      this.#stream.write(this.#capable ? `${NO_WRAP}${pending}${WRAP}` : pending);
      pending = "";
    };
    return { rows, flush };
  }
}
