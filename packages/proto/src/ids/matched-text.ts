/** What a record's pattern has matched: the patterns are those of the schemas, and to check it again would be half the work on a log. */
import type { Hash32 } from "./hash32.ts";
import type { AuditSeq } from "./integers.ts";
import type { Timestamp } from "./timestamp.ts";

const DIGIT_ZERO = 0x30;

/** A seq, from the 15 digits at most that a pattern matched for it. */
export function matchedSeq(digits: string): AuditSeq {
  let value = 0;
  // Several times as fast as Number() of a piece of a longer text.
  for (let index = 0; index < digits.length; index++) value = value * 10 + digits.charCodeAt(index) - DIGIT_ZERO;
  return value as AuditSeq;
}

/** A time that a pattern matched. */
export function matchedTime(text: string): Timestamp {
  return text as Timestamp;
}

/** A hash that a pattern matched. */
export function matchedHash(text: string): Hash32 {
  return text as Hash32;
}
