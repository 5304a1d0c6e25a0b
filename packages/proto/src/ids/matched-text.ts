/** What a record's pattern has matched: the patterns are those of the schemas, and to check it again would be half the work on a log. */
import type { Hash32 } from "./hash32.ts";
import type { AuditSeq } from "./integers.ts";
import type { Timestamp } from "./timestamp.ts";

/** A seq, from the digits that a pattern matched for it. */
export function matchedSeq(digits: string): AuditSeq {
  return Number(digits) as AuditSeq;
}

/** A time that a pattern matched. */
export function matchedTime(text: string): Timestamp {
  return text as Timestamp;
}

/** A hash that a pattern matched. */
export function matchedHash(text: string): Hash32 {
  return text as Hash32;
}
