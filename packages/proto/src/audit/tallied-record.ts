/** The lines of the log as its verifier needs them: most are decisions and results, of which it counts three or four fields. */
import type { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { AuditSeq } from "../ids/integers.ts";
import { SessionId } from "../ids/session-id.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { canonicalPattern, PLAIN_CHARACTER } from "../json/canonical-pattern.ts";
import type { CanonicalReading } from "../json/read-canonical-json.ts";
import { AbsPath } from "../tools/abs-path.ts";
import { HostPattern } from "../tools/host.ts";
import {
  type ApprovalAuditEvent,
  type AuditEvent,
  type AuditRecord,
  DecisionEvent,
  RecordedPath,
  RecordedText,
  ResultEvent,
} from "./audit-event.ts";
import { readRecordLine } from "./record-line.ts";

type Decision = Pick<DecisionEvent, "kind" | "outcome">;
type Result = Pick<z.infer<typeof ResultEvent>, "kind" | "decision">;
type Approval = Pick<ApprovalAuditEvent, "kind" | "decision" | "answer" | "outcome">;

/** An {@link AuditRecord} with what is counted of it. */
export interface TalliedRecord extends Pick<AuditRecord, "seq" | "time" | "prev"> {
  readonly event: Decision | Result | Approval | Exclude<AuditEvent, { kind: "decision" | "result" | "approval" }>;
}

/** A path in a line of this length at most can't be too long, nor can there be too many values in it. */
const MAX_PATTERN_BYTES = 4096;

const LONG_MONTHS = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])";
const SHORT_MONTHS = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)";
// 29 February is left to the full reading.
const FEBRUARY = "02-(?:0[1-9]|1[0-9]|2[0-8])";
const CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}";
const TIME = `2[0-9]{3}-(?:${LONG_MONTHS}|${SHORT_MONTHS}|${FEBRUARY})T${CLOCK}Z`;
const HASH = "[0-9a-f]{64}";
const PATH = '"(?:/(?!\\.{1,2}[/"])[ !#-.0-\\[\\]-~]+)+"';
const NUMBER = "[1-9][0-9]{0,14}";

const ABOVE_1024 = "(?:102[5-9]|10[3-9][0-9]|1[1-9][0-9]{2}|[2-9][0-9]{3}|[1-9][0-9]{4,14})";

const KNOWN: ReadonlyMap<z.core.$ZodType, string> = new Map<z.core.$ZodType, string>([
  [Timestamp, `"${TIME}"`],
  [Hash32, `"${HASH}"`],
  [SessionId, '"[a-z0-9][a-z0-9-]{0,63}"'],
  [AbsPath, PATH],
  [RecordedPath, PATH],
  [RecordedText, `(?:"${PLAIN_CHARACTER}{0,1024}"|\\{"sha256":"${HASH}","bytes":${ABOVE_1024}\\})`],
  // Of hosts there are few in a log.
  [HostPattern, "(?!)"],
]);

function lineOf(event: string): RegExp {
  return new RegExp(`^\\{"seq":(?<seq>${NUMBER}),"time":"(?<time>${TIME})","prev":"(?<prev>${HASH})","event":${event}\\}$`, "u");
}

const DECISION_LINE = lineOf(canonicalPattern(DecisionEvent, { known: KNOWN, captures: { outcome: "outcome" } }));
const RESULT_LINE = lineOf(canonicalPattern(ResultEvent, { known: KNOWN, captures: { decision: "decision" } }));

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
