/** Reads the commonest lines by their pattern alone, without a schema library and without making the objects that are in them. */
import { matchedHash, matchedSeq, matchedTime } from "../ids/matched-text.ts";
import { MAX_PATTERN_BYTES } from "./record-size.ts";
import type { TalliedRecord } from "./tallied-record.ts";

/** Gives of a line, without its newline, what is counted of it; undefined says nothing of the line: it has to be read in full. */
export type ReadByPattern = (bytes: Uint8Array) => TalliedRecord | undefined;

function outcomeOf(matched: string): "allowed" | "ask" | "denied" {
  return matched === '"allowed"' ? "allowed" : matched === '"ask"' ? "ask" : "denied";
}

/** A reader by a pattern of whole lines, which can come from another thread, with the groups of RECORD_PATTERN. */
export function patternReader(pattern: RegExp): ReadByPattern {
  return (bytes) => {
    if (bytes.length > MAX_PATTERN_BYTES) return undefined;
    const buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    // Of bytes that aren't ASCII it makes characters that no pattern has.
    const matched = pattern.exec(buffer.toString("latin1"));
    if (matched === null) return undefined;
    const [, seq, time, prev, outcome, decision] = matched;
    if (seq === undefined || time === undefined || prev === undefined) return undefined;
    let event: TalliedRecord["event"];
    if (outcome !== undefined) event = { kind: "decision", outcome: outcomeOf(outcome) };
    else if (decision !== undefined) event = { kind: "result", decision: matchedSeq(decision) };
    else return undefined;
    return { seq: matchedSeq(seq), time: matchedTime(time), prev: matchedHash(prev), event };
  };
}
