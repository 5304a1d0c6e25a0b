/** Ids: one spelling each. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  ApprovalId,
  AuditSeq,
  auditSeqAfter,
  CallId,
  Hash32,
  millisFromTimestamp,
  parseApprovalId,
  SafeInteger,
  SessionId,
  sha256,
  Timestamp,
  timestampFromMillis,
} from "../../src/index.ts";

const LAST_MILLISECOND = 253_402_300_799_999;

test("parseApprovalId() takes decimal ASCII digits and nothing else", () => {
  for (const text of ["1", "41", "9007199254740991", "1000000000000000"]) assert.equal(parseApprovalId(text), Number(text));
  for (const text of [
    "",
    "0",
    "00",
    "007",
    "+41",
    "-41",
    " 41",
    "41 ",
    "41\n",
    "4 1",
    "4_1",
    "41.0",
    "4.1e1",
    "0x29",
    "0b101",
    "４１",
    "٤١",
    "४१",
    "4\u200b1",
    "9007199254740992",
    "9999999999999999",
    "10000000000000000",
    "1".repeat(100_000),
    "NaN",
    "Infinity",
    "y",
  ]) {
    assert.equal(parseApprovalId(text), undefined, JSON.stringify(text.slice(0, 40)));
  }
});

test("parseApprovalId() gives back exactly the numbers whose own spelling the text is", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (number) => {
      assert.equal(parseApprovalId(String(number)), number === 0 ? undefined : number);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("0", "1", "9", "+", "-", ".", "e", " ", "１", "\n"), maxLength: 4 }), (text) => {
      const isSpelling = /^\d+$/.test(text) && String(Number(text)) === text && text !== "0";
      assert.equal(parseApprovalId(text), isSpelling ? Number(text) : undefined);
    }),
    { numRuns: 1000 },
  );
});

test("integers are whole, from 0 (a seq from 1) to 2^53-1", () => {
  for (const schema of [SafeInteger, CallId]) {
    for (const value of [0, 1, Number.MAX_SAFE_INTEGER]) assert.ok(schema.safeParse(value).success, String(value));
  }
  for (const schema of [SafeInteger, CallId, AuditSeq, ApprovalId]) {
    for (const value of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, "1", 1n, null, true])
      assert.ok(!schema.safeParse(value).success, String(value));
  }
  for (const schema of [AuditSeq, ApprovalId]) assert.ok(!schema.safeParse(0).success);
});

test("the seq after some records is a seq wherever there is one", () => {
  for (const last of [0, 1, Number.MAX_SAFE_INTEGER - 1]) assert.equal(auditSeqAfter(last), AuditSeq.parse(last + 1));
  for (const last of [-1, 0.5, Number.MAX_SAFE_INTEGER, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.ok(!AuditSeq.safeParse(last + 1).success);
    assert.throws(() => auditSeqAfter(last), RangeError);
  }
});

test("SessionId is [a-z0-9][a-z0-9-]{0,63}, and so never a path of its own", () => {
  for (const text of ["a", "0", "chat-1", "a-", "a--b", "a".repeat(64)]) assert.ok(SessionId.safeParse(text).success, text);
  for (const text of ["", "-a", "A", "a_b", "a.b", "..", "a/b", "a b", "a\n", "\na", "é", "ａ", "a".repeat(65), "a\u0000"]) {
    assert.ok(!SessionId.safeParse(text).success, JSON.stringify(text));
  }
});

test("Hash32 is 64 lower-case hex digits", () => {
  assert.ok(Hash32.safeParse("0123456789abcdef".repeat(4)).success);
  for (const text of ["", "0".repeat(63), "0".repeat(65), "A".repeat(64), "g".repeat(64), `${"0".repeat(64)}\n`, "０".repeat(64)]) {
    assert.ok(!Hash32.safeParse(text).success, text);
  }
});

test("sha256() of text is that of its UTF-8", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      assert.equal(sha256(text), createHash("sha256").update(text, "utf8").digest("hex"));
      assert.equal(sha256(text), sha256(Buffer.from(text)));
      assert.ok(Hash32.safeParse(sha256(text)).success);
    }),
  );
});

test("Timestamp is a real day in one spelling, from 1970 to 9999", () => {
  for (const text of [
    "1970-01-01T00:00:00.000Z",
    "2026-02-28T23:59:59.999Z",
    "2024-02-29T12:00:00.000Z",
    "2000-02-29T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
  ]) {
    assert.ok(Timestamp.safeParse(text).success, text);
  }
  for (const text of [
    "",
    "1969-12-31T23:59:59.999Z",
    "0000-01-01T00:00:00.000Z",
    "10000-01-01T00:00:00.000Z",
    "+010000-01-01T00:00:00.000Z",
    "-000001-01-01T00:00:00.000Z",
    "2025-02-29T00:00:00.000Z",
    "2100-02-29T00:00:00.000Z",
    "2026-02-30T00:00:00.000Z",
    "2026-04-31T00:00:00.000Z",
    "2026-13-01T00:00:00.000Z",
    "2026-00-01T00:00:00.000Z",
    "2026-01-00T00:00:00.000Z",
    "2026-01-01T24:00:00.000Z",
    "2026-01-01T23:60:00.000Z",
    "2016-12-31T23:59:60.000Z",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.0Z",
    "2026-01-01T00:00:00.00Z",
    "2026-01-01T00:00:00.0000Z",
    "2026-01-01T00:00:00,000Z",
    "2026-01-01T00:00:00.000+00:00",
    "2026-01-01T00:00:00.000-00:00",
    "2026-01-01T01:00:00.000+01:00",
    "2026-01-01t00:00:00.000z",
    "2026-01-01T00:00:00.000z",
    "2026-01-01 00:00:00.000Z",
    " 2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:00.000Z\n",
    "２026-01-01T00:00:00.000Z",
    "2026-1-1T00:00:00.000Z",
    "2026-W01-1T00:00:00.000Z",
    "2026-01-01",
  ]) {
    assert.ok(!Timestamp.safeParse(text).success, JSON.stringify(text));
  }
});

test("timestampFromMillis() and millisFromTimestamp() are each other's inverse over all the years", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: LAST_MILLISECOND }), (milliseconds) => {
      const timestamp = timestampFromMillis(milliseconds);
      assert.ok(Timestamp.safeParse(timestamp).success);
      assert.equal(millisFromTimestamp(timestamp), milliseconds);
    }),
  );
  assert.equal(timestampFromMillis(0), "1970-01-01T00:00:00.000Z");
  assert.equal(timestampFromMillis(LAST_MILLISECOND), "9999-12-31T23:59:59.999Z");
  for (const outside of [-1, LAST_MILLISECOND + 1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => timestampFromMillis(outside), RangeError);
  }
});

test("any other spelling of a point in time is refused", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date(LAST_MILLISECOND), noInvalidDate: true }),
      fc.nat(23),
      fc.constantFrom("", " ", "0", "Z", "T", "+", "１"),
      (date, at, put) => {
        const text = date.toISOString();
        const changed = text.slice(0, at) + put + text.slice(at + 1);
        const isCanonical =
          !Number.isNaN(Date.parse(changed)) && new Date(changed).toISOString() === changed && changed.length === text.length;
        assert.equal(Timestamp.safeParse(changed).success, isCanonical && changed >= "1970", changed);
      },
    ),
    { numRuns: 1000 },
  );
});
