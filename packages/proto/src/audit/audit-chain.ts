/**
 * The chain of the audit log: whether each line follows from the one before it. Pure, and fed line by line, so that the program that
 * writes the log and the one that verifies it come to the same judgement in flat memory.
 *
 * A line is only believed once the next one is known, because a recovery record may say of the line before it that it was torn.
 */
import { ZERO_HASH } from "../ids/sha256.ts";
import type { CanonicalReading } from "../json/read-canonical-json.ts";
import type { AcceptedBreak, AuditRecord } from "./audit-event.ts";
import { BrokenStretch, breakAt, type ChainBreak, type ChainHead } from "./chain-break.ts";
import { dayOf } from "./day-of.ts";
import type { LogLine } from "./line-splitter.ts";
import type { DayFileName } from "./log-files.ts";
import { MAX_RECORD_BYTES } from "./record-size.ts";
import type { TalliedRecord } from "./tallied-record.ts";
import { describesLine, isBegunRecovery, type LinePlace, phraseRecovery, type TornLine } from "./torn-line.ts";

/**
 * What a log that was read to its end is. `torn` lines are the last ones, in order of the file; the writer ends the last of them
 * and then describes them, the last one first.
 */
export type ChainEnd =
  | { readonly kind: "whole"; readonly head: ChainHead }
  | { readonly kind: "torn"; readonly head: ChainHead; readonly lines: readonly TornLine[] }
  | { readonly kind: "broken"; readonly at: ChainBreak; readonly acceptance: Acceptance | undefined };

/** How to go on behind a break: `event` is the next record, and follows `head`, which is the last line whatever that is. */
export interface Acceptance {
  readonly event: AcceptedBreak;
  readonly head: ChainHead;
  /** A last line without a newline has to get it first, and then the log has to be read again: it may say something else. */
  readonly unended: TornLine | undefined;
}

/** Takes each record once it is certain, in order. Must not throw. */
export type OnRecord<R extends TalliedRecord = AuditRecord> = (record: R, place: LinePlace) => void;

/** Reads a line without its newline. Only what is canonical is a record. */
export type ReadLine<R extends TalliedRecord> = (bytes: Uint8Array) => CanonicalReading<R>;

export interface AuditChainOptions<R extends TalliedRecord = AuditRecord> {
  /**
   * Takes what reads as a record behind a break. Nothing vouches for it, even where a later record accepts the break. Must not throw.
   */
  readonly onDoubtful?: OnRecord<R>;
  /** Takes the chain up in the middle, after this record. A break is then for good: what accepts one counts the lines of the log. */
  readonly after?: ChainHead;
}

/** A line that reads as the record that is due. `described` is the torn line that it accounts for, where it is a recovery. */
interface GoodLine<R> {
  readonly record: R;
  readonly line: TornLine;
  readonly described: BadLine<R> | undefined;
}

/** A line that isn't the record that is due. `couldBeTorn`: a crash can leave a line that ends so. */
interface BadLine<R> {
  readonly line: TornLine;
  readonly expected: string;
  readonly found: string;
  readonly couldBeTorn: boolean;
  /** What it reads as, in the wrong place. */
  readonly record: R | undefined;
}

/** A chain is fed the files of one log, oldest first: {@link LineChain.beginFile}, then its lines, which it takes as `read` reads them. */
export class LineChain<R extends TalliedRecord> {
  readonly #read: ReadLine<R>;
  readonly #onRecord: OnRecord<R>;
  readonly #onDoubtful: OnRecord<R>;
  readonly #isWhole: boolean;
  #head: ChainHead = { seq: 0, sha256: ZERO_HASH, time: null };
  #file: DayFileName | undefined;
  #day = "";
  #lineNumber = 0;
  #offset = 0;
  /** Lines of all files so far. */
  #lines = 0;
  #lastLine: TornLine | undefined;
  /** The last line, where it was the record that was due: certain as soon as the next line doesn't call it torn. */
  #held: GoodLine<R> | undefined;
  /** Lines that wait for a recovery record; the last one is described first. */
  #torn: BadLine<R>[] = [];
  #stretch: BrokenStretch | undefined;

  constructor(read: ReadLine<R>, onRecord: OnRecord<R>, { onDoubtful, after }: AuditChainOptions<R> = {}) {
    this.#read = read;
    this.#onRecord = onRecord;
    this.#onDoubtful = onDoubtful ?? (() => undefined);
    this.#isWhole = after === undefined;
    if (after !== undefined) this.#head = after;
  }

  /**
   * The next lines are of this file, from `offset` on.
   *
   * @throws {RangeError} when it isn't later than the one before
   */
  beginFile(file: DayFileName, offset = 0): void {
    if (this.#file !== undefined && file <= this.#file) throw new RangeError("expected the log's files in order of their days");
    this.#file = file;
    this.#day = dayOf(file);
    this.#lineNumber = 0;
    this.#offset = offset;
  }

  /** Takes the file's next line. A break stands until a record accepts it, so the lines behind it matter too. */
  feed(line: LogLine): void {
    if (this.#file === undefined) throw new RangeError("expected beginFile before the first line");
    this.#lineNumber++;
    const { bytes, sha256, ended } = line;
    const place: TornLine = { file: this.#file, line: this.#lineNumber, offset: this.#offset, bytes, sha256, ended };
    this.#offset += bytes + 1;
    const before = this.#lastLine;
    const reading =
      line.content === undefined
        ? ({ kind: "not_json", problem: `a line longer than ${MAX_RECORD_BYTES} bytes` } as const)
        : this.#read(line.content);
    if (this.#stretch === undefined && before?.ended === false) this.#breakAfterUnended(before);
    if (this.#stretch === undefined) this.#judge(line.content, reading, place);
    if (this.#stretch !== undefined) this.#giveUp(this.#stretch, reading.kind === "ok" ? reading.value : undefined, place);
    this.#lines++;
    this.#lastLine = place;
  }

  /** The log has no more lines. */
  end(): ChainEnd {
    if (this.#stretch === undefined) {
      if (this.#held !== undefined && !this.#held.line.ended) this.#withdrawHeld(this.#held);
      this.#settleHeld();
      const wrong = this.#torn.find(({ line, couldBeTorn }) => line.ended && !couldBeTorn);
      if (wrong !== undefined) this.#break(wrong.line, wrong);
    }
    if (this.#stretch !== undefined) return this.#endBroken(this.#stretch);
    if (this.#torn.length === 0) return { kind: "whole", head: this.#head };
    return { kind: "torn", head: this.#head, lines: this.#torn.map(({ line }) => line) };
  }

  #endBroken(stretch: BrokenStretch): ChainEnd {
    const last = this.#lastLine;
    const head: ChainHead = { seq: this.#lines, sha256: last?.sha256 ?? ZERO_HASH, time: null };
    const acceptance = { event: stretch.acceptance(), head, unended: last?.ended === false ? last : undefined };
    return { kind: "broken", at: stretch.at, acceptance: this.#isWhole ? acceptance : undefined };
  }

  #judge(content: Uint8Array | undefined, reading: CanonicalReading<R>, place: TornLine): void {
    const record = reading.kind === "ok" ? reading.value : undefined;
    if (record !== undefined && this.#callsHeldTorn(record)) return this.#acceptDescription(record, place);
    this.#settleHeld();
    const top = this.#torn.at(-1);
    if (top !== undefined) return this.#afterTorn(top, content, place, record);
    if (reading.kind !== "ok") {
      const couldBeTorn = reading.kind === "not_json";
      this.#torn.push({ line: place, expected: this.#due(), found: reading.problem, couldBeTorn, record });
      return;
    }
    const fault = this.#faultOf(reading.value);
    if (fault === undefined) this.#held = { record: reading.value, line: place, described: undefined };
    else this.#torn.push({ line: place, ...fault, couldBeTorn: false, record });
  }

  /** Whether this recovery record takes the place of the line before it, which reads as a record but was written half. */
  #callsHeldTorn({ seq, prev, event }: TalliedRecord): boolean {
    const held = this.#held;
    if (held === undefined || event.kind !== "recovery" || !describesLine(event, held.line)) return false;
    return seq === held.record.seq && prev === held.record.prev;
  }

  #acceptDescription(record: R, place: TornLine): void {
    if (this.#held !== undefined) this.#withdrawHeld(this.#held);
    this.#held = { record, line: place, described: this.#torn.pop() };
  }

  /** The held line turns out to be torn, and so is what it described, if anything, without its description again. */
  #withdrawHeld({ line, record, described }: GoodLine<R>): void {
    if (described !== undefined) this.#torn.push(described);
    this.#torn.push({
      line,
      expected: "a newline",
      found: `a whole record with seq ${record.seq} and no newline`,
      couldBeTorn: true,
      record,
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
  #afterTorn(top: BadLine<R>, content: Uint8Array | undefined, place: TornLine, record: R | undefined): void {
    const { seq, sha256: prev } = this.#head;
    const event: TalliedRecord["event"] | undefined = record?.event;
    if (record !== undefined && event?.kind === "recovery") {
      if (record.seq === seq + 1 && record.prev === prev && describesLine(event, top.line)) {
        this.#held = { record, line: place, described: this.#torn.pop() };
        return;
      }
      const expected = `${phraseRecovery(top.line)}, ${this.#due()}`;
      const found = `${phraseRecovery(event)}, seq ${record.seq} and prev ${record.prev}`;
      this.#break(place, { expected, found });
      return;
    }
    if (content !== undefined && isBegunRecovery(content, seq + 1, prev, top.line)) {
      const found = "the beginning of one";
      this.#torn.push({ line: place, expected: phraseRecovery(top.line), found, couldBeTorn: true, record });
      return;
    }
    const [first = top] = this.#torn;
    this.#break(first.line, first);
  }

  #due(): string {
    return `a record with seq ${this.#head.seq + 1} and prev ${this.#head.sha256}`;
  }

  #faultOf(record: TalliedRecord): { readonly expected: string; readonly found: string } | undefined {
    const { seq, sha256 } = this.#head;
    if (record.seq !== seq + 1) return { expected: `seq ${seq + 1}`, found: `seq ${record.seq}` };
    if (record.prev !== sha256) return { expected: `prev ${sha256}`, found: `prev ${record.prev}` };
    if (dayOf(record.time) > this.#day) return { expected: `a time on ${this.#day} or before`, found: `time ${record.time}` };
    if (record.event.kind === "recovery") return { expected: "a torn line before a recovery", found: phraseRecovery(record.event) };
    if (record.event.kind === "accepted_break") return { expected: "a break before its acceptance", found: "an accepted_break" };
    return undefined;
  }

  #breakAfterUnended(line: TornLine): void {
    this.#settleHeld();
    const found = "the end of the file, with more records in a later one";
    this.#break(line, { expected: "a newline at the end of the line", found });
  }

  /** From here on nothing counts until a record accepts it. Torn lines that nobody described are part of what it has to name. */
  #break(place: LinePlace, phrases: Pick<ChainBreak, "expected" | "found">): void {
    this.#stretch = new BrokenStretch(breakAt(place, phrases, this.#head.seq), this.#head);
    const torn = this.#torn;
    this.#torn = [];
    for (const { line, record } of torn) {
      this.#stretch.add(line.sha256);
      if (record !== undefined) this.#onDoubtful(record, line);
    }
  }

  /** Adds a line to the broken stretch, or finds the record that accepts it. */
  #giveUp(stretch: BrokenStretch, record: R | undefined, place: TornLine): void {
    if (record !== undefined && this.#accepts(stretch, record, place)) {
      // INVARIANT: never held: a recovery that called it torn would take the break away with it.
      this.#head = { seq: record.seq, sha256: place.sha256, time: record.time };
      this.#stretch = undefined;
      this.#onRecord(record, place);
      return;
    }
    stretch.add(place.sha256);
    if (record !== undefined) this.#onDoubtful(record, place);
  }

  #accepts(stretch: BrokenStretch, { seq, time, prev, event }: TalliedRecord, place: TornLine): boolean {
    if (event.kind !== "accepted_break" || !place.ended || !this.#isWhole) return false;
    if (seq !== this.#lines + 1 || prev !== this.#lastLine?.sha256 || dayOf(time) > dayOf(place.file)) return false;
    return stretch.isAcceptedBy(event);
  }
}
