/** Integers on the wire and on disk: never negative, never beyond what a double holds exactly. */
import { z } from "zod";

/** An integer in 0..2^53-1. */
export const SafeInteger = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
export type SafeInteger = z.infer<typeof SafeInteger>;

/** The number of a tool call: rises by one within a session and is never used again, across restarts and epochs. */
export const CallId = SafeInteger.brand<"CallId">();
export type CallId = z.infer<typeof CallId>;

/** The position of a record in the audit log, from 1. */
export const AuditSeq = SafeInteger.min(1).brand<"AuditSeq">();
export type AuditSeq = z.infer<typeof AuditSeq>;

/**
 * The seq of the record that comes after `last` records.
 *
 * @throws {RangeError} when that is no seq
 */
export function auditSeqAfter(last: number): AuditSeq {
  const next = last + 1;
  if (!Number.isSafeInteger(next) || next < 1) throw new RangeError(`expected a whole number of records, got ${last}`);
  return next as AuditSeq;
}

/** An approval's id: the audit `seq` of the decision that asked. */
export const ApprovalId = AuditSeq.brand<"ApprovalId">();
export type ApprovalId = z.infer<typeof ApprovalId>;

/**
 * Reads an approval id as an owner types it: decimal ASCII digits only, no sign, no space, no leading zero.
 *
 * @returns the id, or `undefined` where the text isn't one (`+41`, ` 41`, `４１`, `0`, `007`)
 */
export function parseApprovalId(text: string): ApprovalId | undefined {
  if (!/^[1-9][0-9]{0,15}$/u.test(text)) return undefined;
  const parsed = ApprovalId.safeParse(Number(text));
  return parsed.success ? parsed.data : undefined;
}
