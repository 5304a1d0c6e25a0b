/** The strict reader against a second one, written from the grammar in another style. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_FRAME, MAX_JSON_DEPTH, readForeignJson, readJson, readJsonBytes } from "../../src/index.ts";
import { isStrict, readTree } from "../support/json-tree.ts";

function problemOf(text: string): string {
  const reading = readJson(text);
  return reading.kind === "invalid" ? reading.problem : "none";
}

/** What the second reader makes of it. */
function isStrictText(text: string): boolean {
  const tree = readTree(text);
  return tree !== undefined && isStrict(tree, MAX_JSON_DEPTH);
}

function agree(text: string): void {
  const reading = readJson(text);
  assert.equal(reading.kind === "value", isStrictText(text), text);
  if (reading.kind === "value") assert.deepEqual(reading.value, JSON.parse(text));
}

/** Spellings of strings, among them equal ones that look different, and halves of pairs. */
const spelledString = fc
  .array(
    fc.constantFrom(
      "a",
      "b",
      "\\u0061",
      "\\\\",
      '\\"',
      "\\/",
      "/",
      "é",
      "👩",
      "\\ud83d\\udc69",
      "\\ud83d",
      "\\udc69",
      "\\n",
      " ",
      "{",
      ",",
      "__proto__",
    ),
    {
      maxLength: 3,
    },
  )
  .map((parts) => `"${parts.join("")}"`);
const spelledNumber = fc.oneof(
  fc.maxSafeNat().map(String),
  fc.constantFrom(
    "0",
    "-0",
    "-1",
    "1.0",
    "1e2",
    "1E+2",
    "0.5",
    "9007199254740991",
    "9007199254740992",
    "12345678901234567890",
    "1e400",
    "01",
    "+1",
    ".5",
    "5.",
  ),
);
const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r ", "\u00a0");

/** JSON texts, almost: white space anywhere, every spelling of numbers and strings, duplicate keys. */
const { text: almostJson } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4 },
    spelledString,
    spelledNumber,
    fc.constantFrom("true", "false", "null", "nul", "True", "NaN", "undefined", ""),
    fc
      .tuple(
        fc.array(
          fc.tuple(space, tie("text"), space).map((parts) => parts.join("")),
          { maxLength: 4 },
        ),
        space,
      )
      .map(([items, inner]) => `[${items.join(",")}${inner}]`),
    fc
      .tuple(
        fc.array(
          fc.tuple(space, spelledString, space, tie("text")).map(([a, key, b, value]) => `${a}${key}${b}:${value}`),
          { maxLength: 4 },
        ),
        space,
      )
      .map(([members, inner]) => `{${members.join(",")}${inner}}`),
  ),
}));

test("readJson() accepts exactly what the grammar and our rules allow, with the value JSON.parse gives", () => {
  fc.assert(fc.property(almostJson, agree), { numRuns: 3000 });
});

test("readJson() accepts whatever JSON.stringify writes of values with whole strings and safe integers", () => {
  const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: "binary" }),
      fc.maxSafeNat(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value")),
      fc.dictionary(fc.string({ unit: "binary" }), tie("value")),
    ),
  }));
  fc.assert(
    fc.property(values, fc.constantFrom(0, 2, "\t"), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const expected: unknown = JSON.parse(text);
      assert.deepEqual(readJson(text), { kind: "value", value: expected });
    }),
    { numRuns: 500 },
  );
});

test("readJson() of a valid text with one character changed agrees with the second reader", () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom("", '"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", " ", "\ud800"),
      (text, at, put) => {
        const index = at % (text.length + 1);
        agree(text.slice(0, index) + put + text.slice(index));
        agree(text.slice(0, index) + put + text.slice(index + 1));
      },
    ),
    { numRuns: 2000 },
  );
});

test("readJsonBytes() never throws, and accepts no bytes that are not UTF-8", () => {
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const reading = readJsonBytes(bytes);
      if (reading.kind === "value") assert.deepEqual(reading.value, JSON.parse(utf8.decode(bytes)));
    }),
    { numRuns: 2000 },
  );
});

test("readJson() says what is wrong and where, without the input", () => {
  const cases: readonly (readonly [text: string, problem: string])[] = [
    ["", "not JSON"],
    ["{", "not JSON"],
    ["\ufeff{}", "not JSON"],
    ["{} {}", "not JSON"],
    ["{'a':1}", "not JSON"],
    ['{"a":1,}', "not JSON"],
    ['"\n"', "not JSON"],
    ['{"a":1,"a":2}', 'a duplicate key "a" at offset 7'],
    ['{"a":1,"\\u0061":2}', 'a duplicate key "a" at offset 7'],
    ['{"":1,"":2}', 'a duplicate key "" at offset 6'],
    ['[{"b":{"\\u202e":1,"\u202e":2}}]', 'a duplicate key "\\u202e" at offset 18'],
    ['{"__proto__":1,"__proto__":2}', 'a duplicate key "__proto__" at offset 15'],
    ["-1", "a number that is no integer in 0..2^53-1 at offset 0"],
    ["[0,-0]", "a number that is no integer in 0..2^53-1 at offset 3"],
    ["1.0", "a number that is no integer in 0..2^53-1 at offset 0"],
    ["1e2", "a number that is no integer in 0..2^53-1 at offset 0"],
    ["9007199254740992", "a number that is no integer in 0..2^53-1 at offset 0"],
    ["9007199254740993", "a number that is no integer in 0..2^53-1 at offset 0"],
    ['["\\ud800"]', "a lone surrogate at offset 1"],
    ['["\\udc00\\ud800"]', "a lone surrogate at offset 1"],
    ['{"\\udfff":0}', "a lone surrogate at offset 1"],
    ['["\ud800"]', "a lone surrogate at offset 1"],
    [`${"[".repeat(65)}${"]".repeat(65)}`, "nested deeper than 64 at offset 64"],
    [`${'{"a":'.repeat(65)}0${"}".repeat(65)}`, "nested deeper than 64 at offset 320"],
  ];
  for (const [text, problem] of cases) assert.equal(problemOf(text), problem, text);
  assert.deepEqual(readJsonBytes(Uint8Array.of(0x22, 0xff, 0x22)), { kind: "invalid", problem: "not UTF-8" });
});

test("readJson() takes the same key in different objects, the largest integer, whole pairs, and 64 levels", () => {
  for (const text of [
    '{"a":{"a":1},"b":[{"a":1},{"a":1}]}',
    "9007199254740991",
    '"\\ud83d\\udc69 👩"',
    `${"[".repeat(64)}${"]".repeat(64)}`,
    ' \t\r\n{"a" : [ ] }\n',
    '{"constructor":1,"toString":2,"a\\\\":3,"a":4}',
  ]) {
    assert.equal(problemOf(text), "none", text);
  }
});

test("readJson() keeps a key __proto__ as a key of its own, so that a strict schema sees it", () => {
  const reading = readJson('{"__proto__":{"admin":true}}');
  assert.ok(reading.kind === "value" && typeof reading.value === "object" && reading.value !== null);
  assert.deepEqual(Object.keys(reading.value), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(reading.value), Object.prototype);
});

/** Texts on which a careless reader runs out of stack or takes time that grows with the square of the length. */
const TRAPS: readonly (readonly [name: string, text: string, problem: string])[] = [
  ["a million [", "[".repeat(1_000_000), "not JSON"],
  ["a million [ and ]", "[".repeat(1_000_000) + "]".repeat(1_000_000), "nested deeper than 64 at offset 64"],
  ["a million nested objects", `${'{"a":'.repeat(1_000_000)}0${"}".repeat(1_000_000)}`, "nested deeper than 64 at offset 320"],
  ["a string of the largest size", `"${"a".repeat(MAX_FRAME - 2)}"`, "none"],
  ["a string of escaped quotes", `"${'\\"'.repeat(MAX_FRAME / 2 - 1)}"`, "none"],
  ["a string of backslashes", `"${"\\\\".repeat(MAX_FRAME / 2 - 1)}"`, "none"],
  ["a string of unpaired halves", `"${"\\ud800".repeat(MAX_FRAME / 6 - 1)}"`, "a lone surrogate at offset 0"],
  ["an unended string of backslashes", `"${"\\".repeat(MAX_FRAME - 1)}`, "not JSON"],
  ["a number of the largest size", "1".repeat(MAX_FRAME), "a number that is no integer in 0..2^53-1 at offset 0"],
  ["white space", " ".repeat(MAX_FRAME), "not JSON"],
  ["white space around a value", `${" ".repeat(MAX_FRAME / 2)}0${"\n".repeat(MAX_FRAME / 2 - 1)}`, "none"],
  ["an array that fills a frame", `[${"0,".repeat(MAX_FRAME / 2 - 2)}0]`, "more than 262144 values at offset 524288"],
  ["many strings", `[${'"\\\\",'.repeat(200_000)}0]`, "none"],
];

for (const [name, text, problem] of TRAPS) {
  test(`readJson() reads ${name} in one pass`, () => {
    assert.equal(problemOf(text), problem);
  });
}

test("readJson() counts the values of all levels together, and takes 262144 of them", () => {
  const inner = `[${"[],".repeat(99)}[]]`;
  const most = (extra: string): string => `[${`${inner},`.repeat(2621)}${"0,".repeat(43)}0${extra}]`;
  assert.equal(problemOf(`[${"0,".repeat(262_143)}0]`), "none");
  assert.match(problemOf(`[${"0,".repeat(262_144)}0]`), /^more than 262144 values at offset \d+$/u);
  assert.equal(problemOf(most("")), "none");
  assert.match(problemOf(most(",0")), /^more than 262144 values at offset \d+$/u);
});

test("readJson() finds the duplicate among a quarter of a million keys", () => {
  const keys = Array.from({ length: 250_000 }, (_, index) => `"k${index}":0`);
  assert.equal(problemOf(`{${keys.join(",")}}`), "none");
  assert.match(problemOf(`{${keys.join(",")},"k0":0}`), /^a duplicate key "k0" at offset \d+$/u);
});

test("readJson() shows only the beginning of a long duplicate key, escaped", () => {
  const key = `${"a".repeat(63)}👩${"b".repeat(1000)}`;
  const problem = problemOf(`{"${key}":0,"${key}":0}`);
  assert.equal(problem, `a duplicate key "${"a".repeat(63)}\\ud83d" at offset ${key.length + 6}`);
});

test("readForeignJson() reads by the grammar alone", () => {
  assert.deepEqual(readForeignJson('{"a":1.5,"a":-0,"b":"\\ud800"}'), { kind: "value", value: { a: -0, b: "\ud800" } });
  assert.deepEqual(readForeignJson("{"), { kind: "invalid", problem: "not JSON" });
});
