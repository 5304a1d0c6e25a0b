/** Reads the lines of the log as its verifier needs them. */
import type { CanonicalReading } from "../json/read-canonical-json.ts";
import { patternReader } from "./pattern-reader.ts";
import { readRecordLine } from "./record-line.ts";
import { RECORD_PATTERN } from "./record-pattern.ts";
import type { TalliedRecord } from "./tallied-record.ts";

const readByPattern = patternReader(RECORD_PATTERN);

/**
 * Reads a line, without its newline, as {@link readRecordLine} does and with the same judgement; of decisions and results it gives the
 * fields that are counted, ten times as fast.
 */
export function readTalliedLine(bytes: Uint8Array): CanonicalReading<TalliedRecord> {
  const value = readByPattern(bytes);
  return value === undefined ? readRecordLine(bytes) : { kind: "ok", value };
}
