/** One line of the audit log: from a record to its bytes, and back. */
import type { Hash32 } from "../ids/hash32.ts";
import type { AuditSeq } from "../ids/integers.ts";
import type { Timestamp } from "../ids/timestamp.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import { type CanonicalReading, readCanonicalJson } from "../json/read-canonical-json.ts";
import { isReadable } from "../json/read-json.ts";
import { type AuditEvent, AuditRecord } from "./audit-event.ts";
import { isPatternedLine } from "./record-pattern.ts";
import { MAX_RECORD_BYTES } from "./record-size.ts";

/** What a record is made of; `event` may have its keys in any order. */
export interface RecordFields {
  readonly seq: AuditSeq;
  readonly time: Timestamp;
  readonly prev: Hash32;
  readonly event: AuditEvent;
}

/**
 * The line of a record, without its newline. What is asked is always of the line: of one that a pattern takes, there is nothing more to ask;
 * any other event is checked, and its keys put into order, first.
 *
 * @throws {RangeError} when the fields make no valid record, or one longer than {@link MAX_RECORD_BYTES}: a line that the verifier
 *   would refuse must never be written
 */
export function encodeRecordLine(fields: RecordFields): { readonly record: AuditRecord; readonly line: string } {
  const { seq, time, prev, event } = fields;
  const record = { seq, time, prev, event };
  const plain = canonicalJson(record);
  if (isPatternedLine(plain)) return { record, line: plain };
  const parsed = AuditRecord.safeParse(fields);
  if (!parsed.success) throw new RangeError("expected a valid audit record", { cause: parsed.error });
  const line = canonicalJson(parsed.data);
  if (!isReadable(line)) throw new RangeError("expected well-formed text and not too many values in an audit record");
  if (Buffer.byteLength(line) > MAX_RECORD_BYTES)
    throw new RangeError(`expected an audit record of at most ${MAX_RECORD_BYTES} bytes`);
  return { record: parsed.data, line };
}

/** Reads the bytes of a line, without its newline, as a record in its canonical spelling. */
export function readRecordLine(bytes: Uint8Array): CanonicalReading<AuditRecord> {
  return readCanonicalJson(AuditRecord, bytes);
}
