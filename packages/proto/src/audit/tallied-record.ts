/** The lines of the log as its verifier needs them: most are decisions and results, of which it counts three or four fields. */
import type { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { AuditSeq } from "../ids/integers.ts";
import { Timestamp } from "../ids/timestamp.ts";
import type { CanonicalReading } from "../json/read-canonical-json.ts";
import type { ApprovalAuditEvent, AuditEvent, AuditRecord, DecisionEvent, ResultEvent } from "./audit-event.ts";
import { readRecordLine } from "./record-line.ts";
import { DECISION_LINE, MAX_PATTERN_BYTES, RESULT_LINE } from "./record-pattern.ts";

type Decision = Pick<DecisionEvent, "kind" | "outcome">;
type Result = Pick<z.infer<typeof ResultEvent>, "kind" | "decision">;
type Approval = Pick<ApprovalAuditEvent, "kind" | "decision" | "answer" | "outcome">;

/** An {@link AuditRecord} with what is counted of it. */
export interface TalliedRecord extends Pick<AuditRecord, "seq" | "time" | "prev"> {
  readonly event: Decision | Result | Approval | Exclude<AuditEvent, { kind: "decision" | "result" | "approval" }>;
}

type Groups = Readonly<Record<string, string | undefined>>;

function headOf({ seq, time, prev }: Groups): Pick<TalliedRecord, "seq" | "time" | "prev"> {
  return { seq: AuditSeq.parse(Number(seq)), time: Timestamp.parse(time), prev: Hash32.parse(prev) };
}

function outcomeOf({ outcome }: Groups): DecisionEvent["outcome"] {
  return outcome === '"allowed"' ? "allowed" : outcome === '"ask"' ? "ask" : "denied";
}

function readByPattern(line: string): TalliedRecord | undefined {
  const decision = DECISION_LINE.exec(line)?.groups;
  if (decision !== undefined) return { ...headOf(decision), event: { kind: "decision", outcome: outcomeOf(decision) } };
  const result = RESULT_LINE.exec(line)?.groups;
  if (result === undefined) return undefined;
  return { ...headOf(result), event: { kind: "result", decision: AuditSeq.parse(Number(result["decision"])) } };
}

/**
 * Reads a line, without its newline, as {@link readRecordLine} does and with the same judgement; of decisions and results it gives the
 * fields that are counted, ten times as fast.
 */
export function readTalliedLine(bytes: Uint8Array): CanonicalReading<TalliedRecord> {
  if (bytes.length <= MAX_PATTERN_BYTES) {
    // Of bytes that aren't ASCII it makes characters that no pattern has.
    const value = readByPattern(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1"));
    if (value !== undefined) return { kind: "ok", value };
  }
  return readRecordLine(bytes);
}
