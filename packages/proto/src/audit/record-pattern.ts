/**
 * The lines of the commonest records as regular expressions: what they match is a valid record in its canonical spelling, whoever wrote it,
 * and needs no object to be made of it.
 */
import type { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { SessionId } from "../ids/session-id.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { canonicalPattern, PLAIN_CHARACTER } from "../json/canonical-pattern.ts";
import { AbsPath } from "../tools/abs-path.ts";
import { HostPattern } from "../tools/host.ts";
import { DecisionEvent, RecordedPath, RecordedText, ResultEvent } from "./audit-event.ts";
import { MAX_PATTERN_BYTES } from "./record-size.ts";

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

const DECISION = canonicalPattern(DecisionEvent, { known: KNOWN, captured: "outcome" });
const RESULT = canonicalPattern(ResultEvent, { known: KNOWN, captured: "decision" });

/** A decision or a result, with groups for seq, time, prev, and the outcome or the number of the decision. */
export const RECORD_PATTERN = new RegExp(
  `^\\{"seq":(${NUMBER}),"time":"(${TIME})","prev":"(${HASH})","event":(?:${DECISION}|${RESULT})\\}$`,
  "u",
);

/**
 * Whether a line, as text, is known to be a valid record in its canonical spelling. False says nothing: other kinds, long lines, and text
 * beyond plain ASCII have to be checked in full.
 */
export function isPatternedLine(line: string): boolean {
  return line.length <= MAX_PATTERN_BYTES && RECORD_PATTERN.test(line);
}
