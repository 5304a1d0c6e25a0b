/** Reads the commonest lines by their patterns alone, without a schema library and without making the objects that are in them. */
import { matchedHash, matchedSeq, matchedTime } from "../ids/matched-text.ts";
import { MAX_PATTERN_BYTES } from "./record-size.ts";
import type { TalliedRecord } from "./tallied-record.ts";

/** Whole lines, with groups for seq, time and prev, and as the fourth the outcome or the number of the decision. */
export interface RecordPatterns {
  readonly decision: RegExp;
  readonly result: RegExp;
}

/** Gives of a line, without its newline, what is counted of it; undefined says nothing of the line: it has to be read in full. */
export type ReadByPattern = (bytes: Uint8Array) => TalliedRecord | undefined;

function outcomeOf(matched: string): "allowed" | "ask" | "denied" {
  return matched === '"allowed"' ? "allowed" : matched === '"ask"' ? "ask" : "denied";
}

/** A reader by these patterns, which can come from another thread. */
export function patternReader({ decision, result }: RecordPatterns): ReadByPattern {
  return (bytes) => {
    if (bytes.length > MAX_PATTERN_BYTES) return undefined;
    // Of bytes that aren't ASCII it makes characters that no pattern has.
    const line = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const matched = decision.exec(line);
    const [, seq, time, prev, counted] = matched ?? result.exec(line) ?? [];
    if (seq === undefined || time === undefined || prev === undefined || counted === undefined) return undefined;
    const event =
      matched === null
        ? ({ kind: "result", decision: matchedSeq(counted) } as const)
        : ({ kind: "decision", outcome: outcomeOf(counted) } as const);
    return { seq: matchedSeq(seq), time: matchedTime(time), prev: matchedHash(prev), event };
  };
}
