import assert from "node:assert/strict";
import { test } from "node:test";
import { Timestamp } from "@boxmaker/proto";
import { formatOwnerTime, readOwnerTime } from "../../src/time/owner-time.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";

const AT = Timestamp.parse("2026-01-05T23:59:59.999Z");
const NOW = Date.parse("2026-06-15T12:00:00.000Z");

test("a time is shown in the owner's zone, with the zone", () => {
  assert.equal(
    formatOwnerTime(AT, () => 0),
    "2026-01-05 23:59:59 +00:00",
  );
  assert.equal(
    formatOwnerTime(AT, () => 345),
    "2026-01-06 05:44:59 +05:45",
  );
  assert.equal(
    formatOwnerTime(AT, () => -210),
    "2026-01-05 20:29:59 -03:30",
  );
});

test("what is shown of a time can be typed again", () => {
  const typed = formatOwnerTime(AT);
  assert.deepEqual(readOwnerTime(typed.replace(/ (?=[+-])/u, ""), NOW, "back"), { kind: "time", time: "2026-01-05T23:59:59.000Z" });
  assert.deepEqual(readOwnerTime(typed.slice(0, 19), NOW, "back"), { kind: "time", time: "2026-01-05T23:59:59.000Z" });
});

test("a span leads back or ahead from now", () => {
  const read = (text: string, direction: "back" | "ahead" = "back") => readOwnerTime(text, NOW, direction);
  assert.deepEqual(read("90s"), { kind: "time", time: "2026-06-15T11:58:30.000Z" });
  assert.deepEqual(read("30m", "ahead"), { kind: "time", time: "2026-06-15T12:30:00.000Z" });
  assert.deepEqual(read("2h"), { kind: "time", time: "2026-06-15T10:00:00.000Z" });
  assert.deepEqual(read("7d", "ahead"), { kind: "time", time: "2026-06-22T12:00:00.000Z" });
  assert.deepEqual(read("2w"), { kind: "time", time: "2026-06-01T12:00:00.000Z" });
  assert.deepEqual(read("9999999w"), { kind: "time", time: "1970-01-01T00:00:00.000Z" });
  assert.equal(read("9999999w", "ahead").kind, "invalid");
});

test("a day and a time may name their zone; a day begins at the owner's midnight", () => {
  const read = (text: string) => readOwnerTime(text, NOW, "back");
  assert.deepEqual(read("2026-03-01T18:30Z"), { kind: "time", time: "2026-03-01T18:30:00.000Z" });
  assert.deepEqual(read("2026-03-01T18:30:05+02:00"), { kind: "time", time: "2026-03-01T16:30:05.000Z" });
  assert.deepEqual(read("2026-03-01"), { kind: "time", time: new Date("2026-03-01T00:00:00").toISOString() });
});

test("anything else is refused in one printable line, days that don't exist included", () => {
  for (const text of [
    "",
    "0h",
    "-2h",
    "2",
    "h",
    "2 h",
    "yesterday",
    "2026-02-30",
    "2026-13-01",
    "2026-01-01T24:30",
    "２h",
    ...HOSTILE,
  ]) {
    const reading = readOwnerTime(text, NOW, "back");
    assert.ok(reading.kind === "invalid", text);
    assert.match(reading.problem, /^".*" is no time: expected .+$/u);
    assert.equal(findUnsafe(reading.problem), undefined);
  }
});
