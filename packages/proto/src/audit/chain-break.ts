/** Where a chain breaks, and the lines from there on: only a record that names them all, and the break, makes the log whole again. */
import { createHash } from "node:crypto";
import type { Hash32 } from "../ids/hash32.ts";
import { digestOf } from "../ids/sha256.ts";
import type { Timestamp } from "../ids/timestamp.ts";
import { escapeText, quoteText } from "../text/escape-text.ts";
import type { AcceptedBreak } from "./audit-event.ts";
import type { DayFileName } from "./log-files.ts";
import type { LinePlace } from "./torn-line.ts";

/** The last record: 0, zeros and null before the first. `sha256` is of its whole line, the next one's `prev`. */
export interface ChainHead {
  readonly seq: number;
  readonly sha256: Hash32;
  readonly time: Timestamp | null;
}

/** The first line that doesn't follow. `expected` and `found` are printable; `lastGood` is the seq of the last record before it. */
export interface ChainBreak {
  readonly file: DayFileName;
  readonly line: number;
  readonly offset: number;
  readonly expected: string;
  readonly found: string;
  readonly lastGood: number;
}

/** Both phrases go into the record that accepts the break, so a hostile line can't make them as long as it likes. */
const MAX_PHRASE = 500;

function bounded(phrase: string): string {
  const escaped = escapeText(phrase);
  return escaped.length <= MAX_PHRASE ? escaped : `${escaped.slice(0, MAX_PHRASE).toWellFormed()}…`;
}

/** A break at a line, with its phrases made printable and short. */
export function breakAt(
  { file, line, offset }: Pick<LinePlace, "file" | "line" | "offset">,
  { expected, found }: Pick<ChainBreak, "expected" | "found">,
  lastGood: number,
): ChainBreak {
  return { file, line, offset, expected: bounded(expected), found: bounded(found), lastGood };
}

/** A break in one line of text, for either program's message. */
export function phraseBreak({ file, line, offset, expected, found, lastGood }: ChainBreak): string {
  const last = lastGood === 0 ? "no record before it is good" : `the last good record is seq ${lastGood}`;
  return `${quoteText(file)} line ${line} (offset ${offset}): expected ${expected}, found ${found}; ${last}`;
}

/** The lines that nothing accounts for, from a break to the last one read so far. */
export class BrokenStretch {
  readonly at: ChainBreak;
  readonly #head: ChainHead;
  readonly #hash = createHash("sha256");
  #lines = 0;

  /** @param head the last good record */
  constructor(at: ChainBreak, head: ChainHead) {
    this.at = at;
    this.#head = head;
  }

  /** The stretch has one more line, of this hash. */
  add(sha256: Hash32): void {
    this.#hash.update(`${sha256}\n`);
    this.#lines++;
  }

  /** The event that accepts the break and the lines so far, and no other. */
  acceptance(): AcceptedBreak {
    const { file, line, offset, expected, found, lastGood } = this.at;
    return {
      kind: "accepted_break",
      file,
      line,
      offset,
      expected,
      found,
      last_good: lastGood,
      last_good_sha256: this.#head.sha256,
      lines: this.#lines,
      sha256: digestOf(this.#hash.copy()),
    };
  }

  /** Whether `event` accepts this break and the lines so far, every field of it. */
  isAcceptedBy(event: AcceptedBreak): boolean {
    const due = this.acceptance();
    return (
      event.file === due.file &&
      event.line === due.line &&
      event.offset === due.offset &&
      event.expected === due.expected &&
      event.found === due.found &&
      event.last_good === due.last_good &&
      event.last_good_sha256 === due.last_good_sha256 &&
      event.lines === due.lines &&
      event.sha256 === due.sha256
    );
  }
}
