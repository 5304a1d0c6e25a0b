/** Cuts a file's bytes, which come in chunks of any size, into lines, holding at most one line in memory. */
import { createHash, type Hash } from "node:crypto";
import type { Hash32 } from "../ids/hash32.ts";
import { digestOf, sha256 } from "../ids/sha256.ts";
import { MAX_RECORD_BYTES } from "./record-size.ts";

const NEWLINE = 0x0a;

/** A line without its newline. `content` is undefined where it is longer than any record; it is valid only during the call. */
export interface LogLine {
  readonly bytes: number;
  readonly sha256: Hash32;
  readonly content: Uint8Array | undefined;
  readonly ended: boolean;
}

/** One splitter reads one file: {@link LineSplitter.push} all of it, then {@link LineSplitter.end}. */
export class LineSplitter {
  readonly #onLine: (line: LogLine) => void;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #longLine: Hash | undefined;

  /** @param onLine called with each line in order, synchronously */
  constructor(onLine: (line: LogLine) => void) {
    this.#onLine = onLine;
  }

  /** Takes the next bytes; the caller may reuse `chunk` afterwards. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#endLine(chunk.subarray(start, end), true);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** The file has no more bytes: what is left is a line without a newline. */
  end(): void {
    if (this.#bytes > 0) this.#endLine(new Uint8Array(0), false);
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#longLine === undefined && this.#bytes > MAX_RECORD_BYTES) {
      this.#longLine = createHash("sha256");
      for (const kept of this.#parts) this.#longLine.update(kept);
      this.#parts = [];
    }
    if (this.#longLine === undefined) this.#parts.push(new Uint8Array(part));
    else this.#longLine.update(part);
  }

  #endLine(rest: Uint8Array, ended: boolean): void {
    if (this.#bytes === 0 && rest.length <= MAX_RECORD_BYTES) {
      this.#onLine({ bytes: rest.length, sha256: sha256(rest), content: rest, ended });
      return;
    }
    this.#keep(rest);
    const bytes = this.#bytes;
    const longLine = this.#longLine;
    const content = longLine === undefined ? Buffer.concat(this.#parts) : undefined;
    const hash = longLine === undefined ? sha256(content ?? "") : digestOf(longLine);
    this.#parts = [];
    this.#bytes = 0;
    this.#longLine = undefined;
    this.#onLine({ bytes, sha256: hash, content, ended });
  }
}
