/**
 * The chain of the audit log: whether each line follows from the one before it. Pure, and fed line by line, so that the program that
 * writes the log and the one that verifies it come to the same judgement in flat memory.
 *
 * A line is only believed once the next one is known, because a recovery record may say of the line before it that it was torn.
 */
import { type Hash32, ZERO_HASH } from "../ids/hash32.ts";
import type { Timestamp } from "../ids/timestamp.ts";
import { escapeText, quoteText } from "../text/escape-text.ts";
import type { AuditRecord } from "./audit-event.ts";
import type { LogLine } from "./line-splitter.ts";
import { type DayFileName, dayOf } from "./log-files.ts";
import { MAX_RECORD_BYTES, readRecordLine } from "./record-line.ts";
import { describesLine, isBegunRecovery, type LinePlace, phraseRecovery, type TornLine } from "./torn-line.ts";

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

/**
 * What a log that was read to its end is. `torn` lines are the last ones, in order of the file; the writer ends the last of them
 * and then describes them, the last one first.
 */
export type ChainEnd =
  | { readonly kind: "whole"; readonly head: ChainHead }
  | { readonly kind: "torn"; readonly head: ChainHead; readonly lines: readonly TornLine[] }
  | { readonly kind: "broken"; readonly at: ChainBreak };

/** Takes each record once it is certain, in order. Must not throw. */
export type OnRecord = (record: AuditRecord, place: LinePlace) => void;

/** A line that reads as the record that is due. `described` is the torn line that it accounts for, where it is a recovery. */
interface GoodLine {
  readonly record: AuditRecord;
  readonly line: TornLine;
  readonly described: BadLine | undefined;
}

/** A line that isn't the record that is due. `couldBeTorn`: a crash can leave a line that ends so. */
interface BadLine {
  readonly line: TornLine;
  readonly expected: string;
  readonly found: string;
  readonly couldBeTorn: boolean;
}

/** A chain is fed the files of one log, oldest first: {@link AuditChain.beginFile}, then its lines. */
export class AuditChain {
  readonly #onRecord: OnRecord;
  #head: ChainHead = { seq: 0, sha256: ZERO_HASH, time: null };
  #file: DayFileName | undefined;
  #lineNumber = 0;
  #offset = 0;
  /** The last line, where it was the record that was due: certain as soon as the next line doesn't call it torn. */
  #held: GoodLine | undefined;
  /** Lines that wait for a recovery record; the last one is described first. */
  readonly #torn: BadLine[] = [];
  #unended: TornLine | undefined;
  #broken: ChainBreak | undefined;

  constructor(onRecord: OnRecord) {
    this.#onRecord = onRecord;
  }

  /**
   * The next lines are of this file.
   *
   * @throws {RangeError} when it isn't later than the one before
   */
  beginFile(file: DayFileName): void {
    if (this.#file !== undefined && file <= this.#file) throw new RangeError("expected the log's files in order of their days");
    this.#file = file;
    this.#lineNumber = 0;
    this.#offset = 0;
  }

  /** Takes the file's next line. Once the chain is broken it stays so, and further lines make no difference. */
  feed(line: LogLine): ChainBreak | undefined {
    if (this.#file === undefined) throw new RangeError("expected beginFile before the first line");
    if (this.#broken !== undefined) return this.#broken;
    this.#lineNumber++;
    const { bytes, sha256, ended } = line;
    const place: TornLine = { file: this.#file, line: this.#lineNumber, offset: this.#offset, bytes, sha256, ended };
    this.#offset += bytes + 1;
    if (this.#unended !== undefined) return this.#breakAfterUnended(this.#unended);
    if (!ended) this.#unended = place;
    this.#judge(line, place);
    return this.#broken;
  }

  /** The log has no more lines. */
  end(): ChainEnd {
    if (this.#broken !== undefined) return { kind: "broken", at: this.#broken };
    if (this.#held !== undefined && !this.#held.line.ended) this.#withdrawHeld(this.#held);
    this.#settleHeld();
    const wrong = this.#torn.find(({ line, couldBeTorn }) => line.ended && !couldBeTorn);
    if (wrong !== undefined) return { kind: "broken", at: this.#break(wrong.line, wrong.expected, wrong.found) };
    if (this.#torn.length === 0) return { kind: "whole", head: this.#head };
    return { kind: "torn", head: this.#head, lines: this.#torn.map(({ line }) => line) };
  }

  #judge(line: LogLine, place: TornLine): void {
    const reading =
      line.content === undefined
        ? ({ kind: "not_json", problem: `a line longer than ${MAX_RECORD_BYTES} bytes` } as const)
        : readRecordLine(line.content);
    const record = reading.kind === "ok" ? reading.value : undefined;
    if (record !== undefined && this.#callsHeldTorn(record)) return this.#acceptDescription(record, place);
    this.#settleHeld();
    const top = this.#torn.at(-1);
    if (top !== undefined) return this.#afterTorn(top, line, place, record);
    if (reading.kind !== "ok") {
      this.#torn.push({ line: place, expected: this.#due(), found: reading.problem, couldBeTorn: reading.kind === "not_json" });
      return;
    }
    const fault = this.#faultOf(reading.value, place.file);
    if (fault === undefined) this.#held = { record: reading.value, line: place, described: undefined };
    else this.#torn.push({ line: place, ...fault, couldBeTorn: false });
  }

  /** Whether this recovery record takes the place of the line before it, which reads as a record but was written half. */
  #callsHeldTorn({ seq, prev, event }: AuditRecord): boolean {
    const held = this.#held;
    if (held === undefined || event.kind !== "recovery" || !describesLine(event, held.line)) return false;
    return seq === held.record.seq && prev === held.record.prev;
  }

  #acceptDescription(record: AuditRecord, place: TornLine): void {
    if (this.#held !== undefined) this.#withdrawHeld(this.#held);
    this.#held = { record, line: place, described: this.#torn.pop() };
  }

  /** The held line turns out to be torn, and so is what it described, if anything, without its description again. */
  #withdrawHeld({ line, record, described }: GoodLine): void {
    if (described !== undefined) this.#torn.push(described);
    this.#torn.push({
      line,
      expected: "a newline",
      found: `a whole record with seq ${record.seq} and no newline`,
      couldBeTorn: true,
    });
    this.#held = undefined;
  }

  /** The held line is a record. */
  #settleHeld(): void {
    const held = this.#held;
    if (held === undefined) return;
    const { record, line } = held;
    this.#held = undefined;
    this.#head = { seq: record.seq, sha256: line.sha256, time: record.time };
    this.#onRecord(record, line);
  }

  /** After a torn line comes the record that describes it, or what a crash left of that record. */
  #afterTorn(top: BadLine, line: LogLine, place: TornLine, record: AuditRecord | undefined): void {
    const { seq, sha256: prev } = this.#head;
    if (record?.event.kind === "recovery") {
      if (record.seq === seq + 1 && record.prev === prev && describesLine(record.event, top.line)) {
        this.#held = { record, line: place, described: this.#torn.pop() };
        return;
      }
      const expected = `${phraseRecovery(top.line)}, ${this.#due()}`;
      const found = `${phraseRecovery(record.event)}, seq ${record.seq} and prev ${record.prev}`;
      this.#broken = this.#break(place, expected, found);
      return;
    }
    if (line.content !== undefined && isBegunRecovery(line.content, seq + 1, prev, top.line)) {
      this.#torn.push({ line: place, expected: phraseRecovery(top.line), found: "the beginning of one", couldBeTorn: true });
      return;
    }
    const [first = top] = this.#torn;
    this.#broken = this.#break(first.line, first.expected, first.found);
  }

  #due(): string {
    return `a record with seq ${this.#head.seq + 1} and prev ${this.#head.sha256}`;
  }

  #faultOf(record: AuditRecord, file: DayFileName): { readonly expected: string; readonly found: string } | undefined {
    const { seq, sha256 } = this.#head;
    if (record.seq !== seq + 1) return { expected: `seq ${seq + 1}`, found: `seq ${record.seq}` };
    if (record.prev !== sha256) return { expected: `prev ${sha256}`, found: `prev ${record.prev}` };
    if (dayOf(record.time) > dayOf(file)) return { expected: `a time on ${dayOf(file)} or before`, found: `time ${record.time}` };
    if (record.event.kind === "recovery") return { expected: "a torn line before a recovery", found: phraseRecovery(record.event) };
    return undefined;
  }

  #breakAfterUnended(line: TornLine): ChainBreak {
    this.#settleHeld();
    this.#broken = this.#break(line, "a newline at the end of the line", "the end of the file, with more records in a later one");
    return this.#broken;
  }

  #break({ file, line, offset }: LinePlace, expected: string, found: string): ChainBreak {
    return { file, line, offset, expected: escapeText(expected), found: escapeText(found), lastGood: this.#head.seq };
  }
}

/** A break in one line of text, for either program's message. */
export function phraseBreak({ file, line, offset, expected, found, lastGood }: ChainBreak): string {
  const last = lastGood === 0 ? "no record before it is good" : `the last good record is seq ${lastGood}`;
  return `${quoteText(file)} line ${line} (offset ${offset}): expected ${expected}, found ${found}; ${last}`;
}
