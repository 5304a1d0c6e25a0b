/** Lines from a pipe, a file, or a terminal that knows nothing but lines. */
import { StringDecoder } from "node:string_decoder";
import type { InputStream, TextStream } from "../process-io.ts";
import type { AskOptions, Line, LineReader } from "./line-reader.ts";

/** Lines not yet asked for: past this the writer is made to wait. */
const HIGH_WATER = 1000;

/** One turn of the event loop with a look at the input in it. */
function nextPoll(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      setImmediate(resolve);
    });
  });
}

export class PipedLines implements LineReader {
  readonly #input: InputStream;
  readonly #output: TextStream | undefined;
  readonly #decoder = new StringDecoder("utf8");
  readonly #lines: string[] = [];
  #partial = "";
  #ended = false;
  #wake: (() => void) | undefined;
  readonly #onData = (chunk: Buffer): void => this.#accept(this.#decoder.write(chunk));
  readonly #onEnd = (): void => {
    this.#accept(this.#decoder.end());
    if (this.#partial !== "" && !this.#ended) this.#lines.push(this.#partial);
    this.#partial = "";
    this.#ended = true;
    this.#wake?.();
  };

  /** @param output where prompts go, if anywhere */
  constructor(input: InputStream, output: TextStream | undefined) {
    this.#input = input;
    this.#output = output;
    input.on("data", this.#onData);
    input.once("end", this.#onEnd);
    input.once("close", this.#onEnd);
    // A failing input is one that has ended.
    input.once("error", this.#onEnd);
  }

  get isTerminal(): boolean {
    return this.#input.isTTY === true;
  }

  async ask(prompt: string, { signal }: AskOptions): Promise<Line> {
    if (signal.aborted) return { kind: "withdrawn" };
    this.#output?.write(prompt);
    const wake = (): void => this.#wake?.();
    signal.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        if (signal.aborted) return { kind: "withdrawn" };
        const text = this.#lines.shift();
        if (text !== undefined) {
          if (this.#lines.length < HIGH_WATER) this.#input.resume();
          return { kind: "line", text };
        }
        if (this.#ended) return { kind: "end" };
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  async discardTyped(): Promise<boolean> {
    const { isTTY } = this.#input;
    if (isTTY !== true) return false;
    // Half a line that the terminal still holds is handed over in raw mode.
    this.#input.setRawMode(true);
    await nextPoll();
    this.#input.setRawMode(false);
    const typed = this.#lines.length > 0 || this.#partial !== "";
    this.#lines.length = 0;
    this.#partial = "";
    return typed;
  }

  [Symbol.dispose](): void {
    this.#input.off("data", this.#onData);
    this.#input.off("end", this.#onEnd);
    this.#input.off("close", this.#onEnd);
    this.#input.pause();
  }

  #accept(text: string): void {
    const lines = (this.#partial + text).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const line of lines) this.#lines.push(line.endsWith("\r") ? line.slice(0, -1) : line);
    if (this.#lines.length >= HIGH_WATER) this.#input.pause();
    this.#wake?.();
  }
}
