/** The quick reading of a line comes to the judgement of the full one, for whatever is in the line. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { type AuditRecord, canonicalJson, readRecordLine, readTalliedLine, type TalliedRecord } from "../../src/index.ts";

const FIXTURES = new URL("../fixtures/AuditRecord/", import.meta.url);
const lines = readdirSync(FIXTURES).map((name) => Buffer.from(readFileSync(new URL(name, FIXTURES), "utf8").trimEnd()));
const quickLines = lines.filter((line) => /"kind":"(?:decision|result)"/u.test(line.toString()));

function counted({ seq, time, prev, event }: AuditRecord | TalliedRecord): unknown {
  if (event.kind === "decision") return { seq, time, prev, event: { kind: event.kind, outcome: event.outcome } };
  if (event.kind === "result") return { seq, time, prev, event: { kind: event.kind, decision: event.decision } };
  return { seq, time, prev, event };
}

function compare(line: Uint8Array): "ok" | "refused" {
  const full = readRecordLine(line);
  const quick = readTalliedLine(line);
  if (full.kind !== "ok") assert.deepEqual(quick, full, Buffer.from(line).toString());
  else assert.deepEqual(quick.kind === "ok" && counted(quick.value), counted(full.value), Buffer.from(line).toString());
  return full.kind === "ok" ? "ok" : "refused";
}

/** Whether the full reading was spared: only then is a decision without its other fields. */
function isQuick(line: Uint8Array): boolean {
  const reading = readTalliedLine(line);
  return reading.kind === "ok" && Object.keys(reading.value.event).length === 2;
}

test("each kind of record is read alike", () => {
  assert.ok(lines.length > 20);
  for (const line of lines) assert.equal(compare(line), "ok");
});

test("decisions and results are read by pattern, but for what only the full reading knows", () => {
  assert.ok(quickLines.length >= 6);
  const slow = quickLines.filter((line) => !isQuick(line));
  assert.deepEqual(
    slow.map((line) => line.includes('"http_fetch"')),
    [true],
  );
});

/** What can stand where a byte of a line stood: JSON's own characters first, since a random byte seldom leaves JSON. */
const piece = fc.oneof(
  fc.constantFrom(
    ...Array.from('{}[]",:\\/.0123456789-+eE abfnrtux*~\u007f\u0000\u0080é'),
    "null",
    "true",
    "false",
    '""',
    "/.",
    "/..",
    "//",
    "{}",
    "[]",
    ",,",
    '"x":1,',
  ),
  fc.string({ maxLength: 3 }),
);
const edit = fc.record({ at: fc.nat(), cut: fc.nat(3), put: piece });

test("a line that was edited anywhere is refused or taken by both", () => {
  const seen = { ok: 0, refused: 0 };
  fc.assert(
    fc.property(fc.constantFrom(...quickLines), fc.array(edit, { minLength: 1, maxLength: 2 }), (line, edits) => {
      let text = line.toString("latin1");
      for (const { at, cut, put } of edits) {
        const start = at % text.length;
        text = text.slice(0, start) + Buffer.from(put).toString("latin1") + text.slice(start + cut);
      }
      seen[compare(Buffer.from(text, "latin1"))]++;
    }),
    { numRuns: 4000 },
  );
  assert.ok(seen.ok > 20 && seen.refused > 100, JSON.stringify(seen));
});

/** Every place of a value that holds a string or a number, with what is put there instead. */
function* variants(value: unknown, put: readonly unknown[]): Generator<unknown> {
  if (typeof value === "string" || typeof value === "number") {
    yield* put;
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    for (const changed of variants(member, put)) {
      if (Array.isArray(value)) yield value.with(Number(key), changed);
      else yield { ...value, [key]: changed };
    }
  }
}

const TEXTS = [
  "",
  "x",
  "é",
  'a"b',
  "a\\b",
  "a\u007fb",
  "a\u0000",
  "~ !",
  "x".repeat(1024),
  "x".repeat(1025),
  "/",
  "//",
  "/a/",
  "/a/.",
  "/a/..b",
  "/..",
  "/.a",
  `/${"a/".repeat(2000)}a`,
  '/a"',
  "a".repeat(64),
  "A".repeat(64),
  "-a",
  "a-",
  "2026-02-29T00:00:00.000Z",
  "2028-02-29T00:00:00.000Z",
  "2026-04-31T00:00:00.000Z",
  "2026-12-31T23:59:59.999Z",
  "2026-12-31T24:00:00.000Z",
  "1969-12-31T00:00:00.000Z",
  "1999-01-01T00:00:00.000Z",
  "9999-12-31T23:59:59.999Z",
  "2026-13-01T00:00:00.000Z",
  "2026-00-01T00:00:00.000Z",
  "2026-01-00T00:00:00.000Z",
  "2026-01-01T00:60:00.000Z",
  "a.example",
  "*.example",
  "127.0.0.1",
  "null",
  "decision",
  "secret",
];
const NUMBERS = [
  0,
  -0,
  -1,
  1,
  1.5,
  1e15,
  1e21,
  999_999_999_999_999,
  1024,
  1025,
  1029,
  1030,
  1099,
  1100,
  1999,
  2000,
  9999,
  10_000,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
];

test("a line with another string or number in any one place is refused or taken by both", () => {
  let count = 0;
  for (const line of quickLines) {
    for (const value of variants(JSON.parse(line.toString()), [...TEXTS, ...NUMBERS])) {
      compare(Buffer.from(canonicalJson(value)));
      count++;
    }
  }
  assert.ok(count > 5000, String(count));
});

test("a line that is too long for a pattern is read in full", () => {
  const line = quickLines.find((bytes) => bytes.includes('"uses_left":[]') && isQuick(bytes));
  assert.ok(line !== undefined);
  const uses = Array.from({ length: 200 }, (_, index) => ({ grant: `g${index}`, left: index }));
  const long = Buffer.from(line.toString().replace('"uses_left":[]', `"uses_left":${canonicalJson(uses)}`));
  assert.ok(long.length > 4096);
  assert.deepEqual([compare(long), isQuick(line), isQuick(long)], ["ok", true, false]);
});
