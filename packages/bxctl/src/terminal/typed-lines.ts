/**
 * Lines that a person types on a terminal, with Node's own line editor (no library: it edits, scrolls and knows wide characters).
 *
 * The terminal is in raw mode throughout. The editor gets bytes only while a question is open: what is typed in between isn't echoed
 * into running output, goes to the next question, and can be discarded whole.
 */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { ReadStream } from "node:tty";
import type { Interrupts } from "./interrupts.ts";
import type { AskOptions, Line, LineReader } from "./line-reader.ts";

const CTRL_C = 0x03;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const MAX_HISTORY = 500;
/** What is typed while nobody asks; more than that is a jammed key. */
const MAX_AHEAD = 64 * 1024;

/** The editor's input: gets bytes when it should see them. */
class KeySource extends Readable {
  readonly #terminal: ReadStream;
  /** Set while we close the editor: raw mode stays on then. */
  keepsRaw = false;

  constructor(terminal: ReadStream) {
    super({ read: () => undefined });
    this.#terminal = terminal;
  }

  /** Called by the editor, which leaves raw mode when it is stopped by Ctrl-Z and enters it again after. */
  setRawMode(mode: boolean): this {
    if (mode || !this.keepsRaw) this.#terminal.setRawMode(mode);
    return this;
  }

  feed(bytes: Buffer): void {
    this.emit("data", bytes);
  }
}

interface OpenQuestion {
  readonly source: KeySource;
  readonly finish: (line: Line) => void;
}

/** Up to and with the first line end, and what comes after it. */
function cutLine(bytes: Buffer): readonly [Buffer, Buffer] {
  const at = bytes.findIndex((byte) => byte === LINE_FEED || byte === RETURN);
  if (at < 0) return [bytes, Buffer.alloc(0)];
  const isPair = bytes[at] === RETURN && bytes[at + 1] === LINE_FEED;
  return [bytes.subarray(0, at + 1), bytes.subarray(at + (isPair ? 2 : 1))];
}

export class TypedLines implements LineReader {
  readonly isTerminal = true;
  readonly #input: ReadStream;
  readonly #output: NodeJS.WritableStream;
  readonly #interrupts: Interrupts;
  #ahead = Buffer.alloc(0);
  #history: readonly string[] = [];
  #open: OpenQuestion | undefined;
  #ended = false;
  readonly #onData = (chunk: Buffer): void => this.#accept(chunk);
  readonly #onEnd = (): void => {
    this.#ended = true;
    this.#open?.finish({ kind: "end" });
  };

  constructor(input: ReadStream, output: NodeJS.WritableStream, interrupts: Interrupts) {
    this.#input = input;
    this.#output = output;
    this.#interrupts = interrupts;
    input.setRawMode(true);
    input.on("data", this.#onData);
    input.once("end", this.#onEnd);
    input.once("close", this.#onEnd);
    // A terminal that fails is one that has gone.
    input.once("error", this.#onEnd);
  }

  ask(prompt: string, { signal, remember }: AskOptions): Promise<Line> {
    if (signal.aborted) return Promise.resolve({ kind: "withdrawn" });
    if (this.#ended) return Promise.resolve({ kind: "end" });
    const source = new KeySource(this.#input);
    const editor = createInterface({
      input: source,
      output: this.#output,
      terminal: true,
      prompt,
      history: remember ? [...this.#history] : [],
      historySize: remember ? MAX_HISTORY : 0,
      removeHistoryDuplicates: true,
    });
    return new Promise((resolve) => {
      const withdraw = (): void => {
        this.#output.write("\n");
        finish({ kind: "withdrawn" });
      };
      const finish = (line: Line): void => {
        if (this.#open?.source !== source) return;
        this.#open = undefined;
        signal.removeEventListener("abort", withdraw);
        source.keepsRaw = true;
        editor.close();
        source.destroy();
        resolve(line);
      };
      this.#open = { source, finish };
      signal.addEventListener("abort", withdraw, { once: true });
      editor.once("line", (text) => finish({ kind: "line", text }));
      editor.on("history", (history: string[]) => {
        this.#history = [...history];
      });
      editor.on("SIGINT", () => this.#interrupts.raise());
      // The editor closes by itself on Ctrl-D only.
      editor.once("close", () => {
        if (this.#open?.source !== source) return;
        this.#ended = true;
        this.#output.write("\n");
        finish({ kind: "end" });
      });
      editor.prompt();
      const ahead = this.#ahead;
      this.#ahead = Buffer.alloc(0);
      this.#accept(ahead);
    });
  }

  async discardTyped(): Promise<boolean> {
    // Two turns of the event loop: between them the input is looked at, so that what the terminal still holds comes too.
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        setImmediate(resolve);
      });
    });
    const typed = this.#ahead.length > 0;
    this.#ahead = Buffer.alloc(0);
    return typed;
  }

  [Symbol.dispose](): void {
    this.#open?.finish({ kind: "withdrawn" });
    this.#input.off("data", this.#onData);
    this.#input.off("end", this.#onEnd);
    this.#input.off("close", this.#onEnd);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  #accept(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && this.#open !== undefined) {
      const [line, after] = cutLine(rest);
      rest = after;
      this.#open.source.feed(line);
    }
    if (rest.length === 0) return;
    const interruptAt = rest.lastIndexOf(CTRL_C);
    if (interruptAt >= 0) {
      // What was typed before Ctrl-C is taken back by it.
      this.#ahead = Buffer.from(rest.subarray(interruptAt + 1));
      this.#interrupts.raise();
    } else {
      this.#ahead = Buffer.concat([this.#ahead, rest]).subarray(0, MAX_AHEAD);
    }
  }
}
