/** How old a log's last sign of life may be, and which days have none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Timestamp, ZERO_HASH } from "@boxmaker/proto";
import { gapsBetween, whyStale } from "../../src/audit/log-age.ts";

function at(text: string): Timestamp {
  return Timestamp.parse(text);
}

function head(time: string | null) {
  return { seq: time === null ? 0 : 7, sha256: ZERO_HASH, time: time === null ? null : at(time) };
}

test("days in a row have no gap, over the end of a month and a year and with two checkpoints on one of them", () => {
  assert.deepEqual(gapsBetween([], []), []);
  assert.deepEqual(gapsBetween(["2026-01-05"], ["2026-01-07"]), []);
  const row = ["2027-01-01", "2026-12-30", "2026-12-31", "2026-12-31", "2027-01-02"];
  assert.deepEqual(gapsBetween(row, row), []);
  assert.deepEqual(gapsBetween(["2028-02-28", "2028-02-29", "2028-03-01"], []), []);
});

test("each gap is told with both its ends, and on how many of its days there are records", () => {
  const signed = ["2026-01-10", "2026-01-01", "2026-01-03", "2026-01-04"];
  const recorded = ["2025-12-31", "2026-01-01", "2026-01-05", "2026-01-06", "2026-01-09", "2026-01-10", "2026-01-11"];
  assert.deepEqual(gapsBetween(signed, recorded), [
    { from: "2026-01-02", to: "2026-01-02", withRecords: 0 },
    { from: "2026-01-05", to: "2026-01-09", withRecords: 3 },
  ]);
});

test("a log is fresh by its last record, or by the beginning of its last signed day, to the millisecond", () => {
  const oldest = at("2026-01-05T00:00:00.000Z");
  assert.equal(whyStale(head("2026-01-05T00:00:00.000Z"), [], oldest), undefined);
  assert.equal(whyStale(head("2026-01-01T00:00:00.000Z"), ["2026-01-05", "2026-01-04"], oldest), undefined);
  assert.equal(whyStale(head(null), ["2026-01-05"], oldest), undefined);
  assert.equal(
    whyStale(head("2026-01-04T23:59:59.999Z"), ["2026-01-04", "2026-01-03"], oldest),
    "expected a record or a day's checkpoint since 2026-01-05T00:00:00.000Z, found the last record of 2026-01-04T23:59:59.999Z and the last checkpoint of 2026-01-04",
  );
  assert.notEqual(whyStale(head(null), ["2026-01-05"], at("2026-01-05T00:00:00.001Z")), undefined);
  assert.match(whyStale(head(null), [], oldest) ?? "", /found no record and no checkpoint$/u);
});
