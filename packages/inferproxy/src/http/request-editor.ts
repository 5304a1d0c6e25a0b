/** Follows a client's HTTP requests through one connection, just enough to put the owner's key into each head. */
import { unreachable } from "@boxmaker/proto";
import { type RequestHeaders, readRequestHead, trailerFault } from "./request-head.ts";

/** The longest head, and the longest trailer of a chunked body, in bytes. */
export const MAX_HEAD_BYTES = 16 * 1024;

/** The longest line that gives a chunk's size, extensions included, in bytes. */
const MAX_SIZE_LINE_BYTES = 1024;

const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

/** What may be sent on after some bytes came, and whether the connection must be closed after that. */
export interface EditStep {
  readonly forward: readonly Buffer[];
  /** Fixed text that says why nothing more is forwarded, or null. */
  readonly refused: string | null;
}

/** What the next byte belongs to; `next` is what follows `left` bytes of a body. */
type Position =
  | { readonly kind: "head" }
  | { readonly kind: "bytes"; readonly left: number; readonly next: Position }
  | { readonly kind: "size-line" }
  | { readonly kind: "chunk-end" }
  | { readonly kind: "trailer" };

const HEAD: Position = { kind: "head" };

/** One connection's editor. Any split of the same bytes gives the same bytes out. */
export class RequestEditor {
  readonly #added: RequestHeaders;
  #position: Position = HEAD;
  /** The start of a piece that isn't whole yet: shorter than the longest piece allowed. */
  #pending: Buffer = Buffer.alloc(0);
  #refused: string | null = null;

  constructor(added: RequestHeaders) {
    this.#added = added;
  }

  /** Takes the next bytes of the client. After a refusal nothing more is forwarded. */
  push(chunk: Buffer): EditStep {
    const forward: Buffer[] = [];
    let rest: Buffer = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = Buffer.alloc(0);
    while (rest.length > 0 && this.#refused === null) {
      const taken = this.#take(rest, forward);
      if (taken === 0) {
        if (this.#refused === null) {
          this.#pending = rest;
        }
        break;
      }
      rest = rest.subarray(taken);
    }
    return { forward, refused: this.#refused };
  }

  /** Takes one piece from the start of `rest` and returns its length; 0 means that the piece isn't whole yet, or is refused. */
  #take(rest: Buffer, forward: Buffer[]): number {
    const position = this.#position;
    switch (position.kind) {
      case "head": {
        const length = this.#pieceLength(rest, HEAD_END, MAX_HEAD_BYTES, "head too long");
        if (length === 0) {
          return 0;
        }
        const head = readRequestHead(rest.toString("latin1", 0, length), this.#added);
        if (head.kind === "refused") {
          this.#refused = head.reason;
          return 0;
        }
        forward.push(head.bytes);
        if (head.body.kind === "chunked") {
          this.#position = { kind: "size-line" };
        } else if (head.body.kind === "length" && head.body.bytes > 0) {
          this.#position = { kind: "bytes", left: head.body.bytes, next: HEAD };
        }
        return length;
      }
      case "bytes": {
        const length = Math.min(rest.length, position.left);
        forward.push(rest.subarray(0, length));
        if (length < position.left) {
          this.#position = { ...position, left: position.left - length };
        } else {
          this.#position = position.next;
        }
        return length;
      }
      case "size-line": {
        const length = this.#pieceLength(rest, LINE_END, MAX_SIZE_LINE_BYTES, "chunk size line too long");
        if (length === 0) {
          return 0;
        }
        const line = rest.toString("latin1", 0, length - LINE_END.length);
        const size = /^(?<size>[0-9A-Fa-f]{1,8})(?:;[\t\x20-\x7e]*)?$/u.exec(line)?.groups?.["size"];
        if (size === undefined) {
          this.#refused = "malformed chunk size";
          return 0;
        }
        forward.push(rest.subarray(0, length));
        const bytes = Number.parseInt(size, 16);
        this.#position = bytes === 0 ? { kind: "trailer" } : { kind: "bytes", left: bytes, next: { kind: "chunk-end" } };
        return length;
      }
      case "chunk-end": {
        if (rest.length < LINE_END.length) {
          return 0;
        }
        const end = rest.subarray(0, LINE_END.length);
        if (!end.equals(LINE_END)) {
          this.#refused = "chunk longer than its size";
          return 0;
        }
        forward.push(end);
        this.#position = { kind: "size-line" };
        return LINE_END.length;
      }
      case "trailer": {
        const isEmpty = rest.subarray(0, LINE_END.length).equals(LINE_END);
        const length = isEmpty ? LINE_END.length : this.#pieceLength(rest, HEAD_END, MAX_HEAD_BYTES, "trailer too long");
        if (length === 0) {
          return 0;
        }
        if (!isEmpty) {
          this.#refused = trailerFault(rest.toString("latin1", 0, length));
          if (this.#refused !== null) {
            return 0;
          }
        }
        forward.push(rest.subarray(0, length));
        this.#position = HEAD;
        return length;
      }
      default:
        return unreachable(position);
    }
  }

  /** The length of the piece up to and with `end`, or 0 if its end isn't there; refuses a piece longer than `max`. */
  #pieceLength(rest: Buffer, end: Buffer, max: number, tooLong: string): number {
    const at = rest.subarray(0, max).indexOf(end);
    if (at === -1 && rest.length >= max) {
      this.#refused = tooLong;
    }
    return at === -1 ? 0 : at + end.length;
  }
}
