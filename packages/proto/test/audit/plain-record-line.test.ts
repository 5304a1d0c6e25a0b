/** A line that is written by pattern is the one that the full check makes, and nothing is written that it refuses. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { isPatternedLine } from "../../src/audit/record-pattern.ts";
import { AuditRecord, canonicalJson, encodeRecordLine, type RecordFields, readRecordLine } from "../../src/index.ts";

/** No record has more leaves. */
const PLACES = 60;
const FIXTURES = new URL("../fixtures/AuditRecord/", import.meta.url);

/** Untyped on purpose: what an event says at run time is what is asked. */
function fieldsOf(text: string): RecordFields {
  return JSON.parse(text) as RecordFields;
}

const texts = readdirSync(FIXTURES).map((name) => readFileSync(new URL(name, FIXTURES), "utf8").trimEnd());
const common = texts.filter((text) => /"kind":"(?:decision|result)"/u.test(text));

/** The line of the full check, or undefined where it refuses. */
function checkedLine(fields: unknown): string | undefined {
  const parsed = AuditRecord.safeParse(fields);
  if (!parsed.success) return undefined;
  const line = canonicalJson(parsed.data);
  return readRecordLine(Buffer.from(line)).kind === "ok" ? line : undefined;
}

function writtenLine(fields: RecordFields): string | undefined {
  try {
    const { line, record } = encodeRecordLine(fields);
    const reading = readRecordLine(Buffer.from(line));
    assert.ok(reading.kind === "ok", line);
    assert.equal(canonicalJson(record), line);
    return line;
  } catch (error) {
    assert.ok(error instanceof RangeError, String(error));
    return undefined;
  }
}

/** The same value with `put` in its `place`-th leaf, counted from 0 and around. */
function replaced(value: unknown, place: number, put: unknown): unknown {
  let leaves = 0;
  const walk = (part: unknown, change: number): unknown => {
    if (typeof part !== "object" || part === null) return leaves++ === change ? put : part;
    if (Array.isArray(part)) return part.map((member) => walk(member, change));
    return Object.fromEntries(Object.entries(part).map(([key, member]) => [key, walk(member, change)]));
  };
  walk(value, -1);
  const wanted = place % leaves;
  leaves = 0;
  return walk(value, wanted);
}

/** The same value with every object's keys in the opposite order. */
function turned(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, turned(member)])
      .toReversed(),
  );
}

const json = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.nat(),
  fc.constantFrom(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e15,
    1e21,
    Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER + 1,
    "/",
    "/a",
    "/a/",
    "//",
    "/a/..",
    "/..b",
    "/ü",
    'a"',
    "a\\",
    "\u007f",
    "\ud800",
    "\u0000",
    "x".repeat(1024),
    "x".repeat(1025),
    `/${"a/".repeat(2000)}a`,
    "x".repeat(5000),
    "0".repeat(64),
    "2026-02-29T00:00:00.000Z",
    "2028-02-29T00:00:00.000Z",
    "2026-06-30T23:59:59.999Z",
    "ask",
    "allowed",
    [],
    {},
    { sha256: "0".repeat(64), bytes: 1025 },
    { sha256: "0".repeat(64), bytes: 1024 },
  ),
);

test("each kind of record is written as the full check has it, whatever the order of its keys", () => {
  for (const text of texts) {
    assert.equal(writtenLine(fieldsOf(text)), text);
    const reordered = canonicalJson(turned(JSON.parse(text)));
    assert.equal(writtenLine(fieldsOf(reordered)), text);
  }
});

test("decisions and results are known by their pattern, but for hosts, which only the full check knows", () => {
  assert.ok(common.length >= 6);
  for (const text of common) assert.equal(isPatternedLine(text), !text.includes('"http_fetch"'), text);
  for (const text of texts) if (!common.includes(text)) assert.equal(isPatternedLine(text), false, text);
});

test("a line that is too long for its pattern is checked in full", () => {
  const text = common.find((line) => line.includes('"path":"') && isPatternedLine(line)) ?? "";
  const long = text.replace('"path":"', `"path":"${"/a".repeat(3000)}`);
  assert.notEqual(long, text);
  assert.equal(checkedLine(fieldsOf(long)), undefined);
  assert.equal(writtenLine(fieldsOf(long)), undefined);
});

test("with anything in any place of it, a record is written as the full check has it, or refused as there", () => {
  const seen = { written: 0, refused: 0 };
  fc.assert(
    fc.property(fc.constantFrom(...common), fc.array(fc.tuple(fc.nat(), json), { minLength: 1, maxLength: 2 }), (text, puts) => {
      let fields: unknown = JSON.parse(text);
      for (const [place, put] of puts) fields = replaced(fields, place, put);
      const expected = checkedLine(fields);
      assert.equal(writtenLine(fields as RecordFields), expected);
      seen[expected === undefined ? "refused" : "written"]++;
    }),
    { numRuns: 1500 },
  );
  assert.ok(seen.written > 100 && seen.refused > 500, JSON.stringify(seen));
});

test("what is no JSON is written as JSON has it, or refused: no line is written that doesn't read back", () => {
  const odd = [undefined, Number.NaN, -0, Number.POSITIVE_INFINITY, Symbol("x"), () => 1, new Date(0), { toJSON: () => "x" }];
  for (const text of common) {
    for (const put of odd) {
      for (let place = 0; place < PLACES; place++) writtenLine(replaced(JSON.parse(text), place, put) as RecordFields);
    }
  }
});
