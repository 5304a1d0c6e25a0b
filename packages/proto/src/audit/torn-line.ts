/**
 * Lines that a crash cut off. A torn line stays where it is, is ended by a newline, and is described by a recovery record; the
 * writing of that record can be cut off in its turn.
 */
import type { Hash32 } from "../ids/hash32.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import { quoteText } from "../text/escape-text.ts";
import type { Recovery } from "./audit-event.ts";
import type { DayFileName } from "./log-files.ts";

/** Where a line lies. `line` counts from 1; `offset` and `bytes` are in bytes of the file, the newline not counted. */
export interface LinePlace {
  readonly file: DayFileName;
  readonly line: number;
  readonly offset: number;
  readonly bytes: number;
  readonly sha256: Hash32;
}

/** A line that is no record and waits for the recovery record that describes it. */
export interface TornLine extends LinePlace {
  /** Whether its newline is there already. */
  readonly ended: boolean;
}

/** The event that describes a torn line. */
export function recoveryOf({ file, offset, bytes, sha256 }: LinePlace): Recovery {
  return { kind: "recovery", file, offset, bytes, sha256 };
}

/** Whether `recovery` describes the line at `place`, every field of it. */
export function describesLine(recovery: Recovery, place: LinePlace): boolean {
  return (
    recovery.file === place.file &&
    recovery.offset === place.offset &&
    recovery.bytes === place.bytes &&
    recovery.sha256 === place.sha256
  );
}

/** A recovery record's or a torn line's fields in one printable phrase. */
export function phraseRecovery({ file, offset, bytes, sha256 }: Omit<Recovery, "kind">): string {
  return `the recovery of ${bytes} bytes at offset ${offset} of ${quoteText(file)} with sha256 ${sha256}`;
}

const ANY_TIME = "0000-00-00T00:00:00.000Z";
const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;

/**
 * Whether `content` is what a crash leaves of the recovery record with this seq and prev for the line at `place`: a beginning of
 * its line, then perhaps zero bytes that the disk never got to fill. The time may be any.
 */
export function isBegunRecovery(content: Uint8Array, seq: number, prev: Hash32, place: LinePlace): boolean {
  const whole = Buffer.from(canonicalJson({ seq, time: ANY_TIME, prev, event: recoveryOf(place) }));
  const timeStart = whole.indexOf(ANY_TIME);
  if (content.length === 0 || content.length > whole.length) return false;
  let written = content.length;
  while (written > 0 && content[written - 1] === 0) written--;
  for (let index = 0; index < written; index++) {
    const byte = content[index] ?? 0;
    const expected = whole[index];
    const isTimeDigit = index >= timeStart && index < timeStart + ANY_TIME.length && expected === DIGIT_ZERO;
    if (isTimeDigit ? byte < DIGIT_ZERO || byte > DIGIT_NINE : byte !== expected) return false;
  }
  return true;
}
