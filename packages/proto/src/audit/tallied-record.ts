/** The lines of the log as its verifier needs them: most are decisions and results, of which it counts three or four fields. */
import type { z } from "zod";
import type { CanonicalReading } from "../json/read-canonical-json.ts";
import type { ApprovalAuditEvent, AuditEvent, AuditRecord, DecisionEvent, ResultEvent } from "./audit-event.ts";
import { patternReader } from "./pattern-reader.ts";
import { readRecordLine } from "./record-line.ts";
import { DECISION_LINE, RESULT_LINE } from "./record-pattern.ts";

type Decision = Pick<DecisionEvent, "kind" | "outcome">;
type Result = Pick<z.infer<typeof ResultEvent>, "kind" | "decision">;
type Approval = Pick<ApprovalAuditEvent, "kind" | "decision" | "answer" | "outcome">;

/** An {@link AuditRecord} with what is counted of it. */
export interface TalliedRecord extends Pick<AuditRecord, "seq" | "time" | "prev"> {
  readonly event: Decision | Result | Approval | Exclude<AuditEvent, { kind: "decision" | "result" | "approval" }>;
}

const readByPattern = patternReader({ decision: DECISION_LINE, result: RESULT_LINE });

/**
 * Reads a line, without its newline, as {@link readRecordLine} does and with the same judgement; of decisions and results it gives the
 * fields that are counted, ten times as fast.
 */
export function readTalliedLine(bytes: Uint8Array): CanonicalReading<TalliedRecord> {
  const value = readByPattern(bytes);
  return value === undefined ? readRecordLine(bytes) : { kind: "ok", value };
}
