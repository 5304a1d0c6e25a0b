import assert from "node:assert/strict";
import { test } from "node:test";
import { parseToml, readToml } from "@boxmaker/edge/toml";
import fc from "fast-check";
import { z } from "zod";

function problemOf(text: string): string {
  const reading = readToml(text);
  assert.equal(reading.kind, "invalid");
  return reading.kind === "invalid" ? `${reading.line}: ${reading.problem}` : "";
}

test("readToml() names the line of every key, of array elements and of tables in arrays", () => {
  const reading = readToml(
    'id = "x"\n[constraints]\npaths = ["/a",\n "/b"]\n[[examples]]\ncall = { path = "/a" }\n[[examples]]\nmatch = true\na.b = 1\n',
  );
  assert.ok(reading.kind === "value");
  assert.equal(reading.lineOf(["id"]), 1);
  assert.equal(reading.lineOf(["constraints"]), 2);
  assert.equal(reading.lineOf(["constraints", "paths", 1]), 4);
  assert.equal(reading.lineOf(["examples", 0, "call", "path"]), 6);
  assert.equal(reading.lineOf(["examples", 1, "match"]), 8);
  assert.equal(reading.lineOf(["examples", 1, "a", "b"]), 9);
  assert.equal(reading.lineOf(["examples", 1, "absent"]), 7, "the nearest parent that is there");
  assert.equal(reading.lineOf(["absent"]), 1);
});

test("readToml() refuses what could be read in two ways", () => {
  assert.match(problemOf("a = 1\na = 2"), /^2: not TOML/u);
  assert.match(problemOf("[a]\nb = 1\n[a]\nc = 1"), /^3: not TOML/u);
  assert.match(problemOf("\nuses = 1.0"), /^2: a number with a fraction/u);
  assert.match(problemOf("uses = 1e3"), /fraction or exponent/u);
  assert.match(problemOf("uses = inf"), /fraction or exponent/u);
  assert.match(problemOf("uses = -1"), /outside 0\.\.2\^53-1/u);
  assert.match(problemOf("uses = 9007199254740993"), /outside 0\.\.2\^53-1/u);
  assert.match(problemOf("t = 2027-01-01"), /without an offset/u);
  assert.match(problemOf("t = 2027-01-01T00:00:00"), /without an offset/u);
  assert.match(problemOf("t = 07:32:00"), /without an offset/u);
  assert.match(problemOf("a = [1, [2.5]]"), /fraction/u);
  assert.match(problemOf("a = { b = 2.5 }"), /fraction/u);
});

test("readToml() refuses __proto__ at every depth, which no schema would see", () => {
  for (const text of [
    "__proto__ = 1",
    "[__proto__]\na = 1",
    "a.__proto__ = 1",
    "a = { __proto__ = 1 }",
    '"__proto__" = 1',
    "[[a.__proto__]]\nb = 1",
  ]) {
    assert.match(problemOf(text), /__proto__/u, text);
  }
});

test("parseToml() reports all problems at once, in the order of their lines, on one line each", () => {
  const schema = z.strictObject({ a: z.int(), l: z.array(z.string()), t: z.strictObject({ b: z.boolean() }) });
  const parsed = parseToml(schema, "z = 3\na = 'x'\nl = [1,\n 2]\n[t]\nb = true\n\"new\\nline\" = 1\n");
  assert.ok(parsed.kind === "invalid");
  assert.deepEqual(
    parsed.problems.map(({ line }) => line),
    [1, 2, 3, 4, 7],
  );
  assert.equal(parsed.problems[0]?.problem, 'unknown key "z"');
  assert.equal(parsed.problems[4]?.problem, 'unknown key "new\\u000aline"');
});

test("parseToml() says what was expected and what stands there", () => {
  const schema = z.strictObject({
    enum: z.enum(["a", "b"]),
    one: z.literal("x"),
    text: z.string(),
    list: z.array(z.int().min(2).max(4)),
    flag: z.boolean(),
    time: z.date(),
    table: z.strictObject({}),
    named: z.record(z.string(), z.boolean()),
    words: z.string().refine(() => false, "expected words"),
    table2: z.strictObject({}).refine(() => false, "expected another table"),
    gone: z.string(),
  });
  const parsed = parseToml(
    schema,
    'enum = "c"\none = 1\ntext = 2\nlist = [1, 5, "3"]\nflag = "no"\ntime = true\ntable = "t"\nnamed = []\nwords = "w"\ntable2 = {}\n',
  );
  assert.ok(parsed.kind === "invalid");
  assert.deepEqual(
    parsed.problems.map(({ problem }) => problem),
    [
      'enum: expected one of "a", "b", got "c"',
      "gone: missing, expected a text in quotes",
      'one: expected "x", got 1',
      "text: expected a text in quotes, got 2",
      "list.0: expected 2 or more, got 1",
      "list.1: expected 4 at most, got 5",
      'list.2: expected a number, got "3"',
      'flag: expected true or false, got "no"',
      "time: expected a time, got true",
      'table: expected a table, got "t"',
      "named: expected a table, got a list",
      'words: expected words, got "w"',
      "table2: expected another table",
    ],
  );
});

test("parseToml() gives the value and its lines where all is well", () => {
  const parsed = parseToml(z.strictObject({ t: z.date() }), "t = 2027-01-01T00:00:00Z");
  assert.ok(parsed.kind === "ok");
  assert.equal(parsed.value.t.toISOString(), "2027-01-01T00:00:00.000Z");
});

test("readToml() never throws, whatever the text", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[a-z="'[\]{}.#\n 0-9-]*$/u)), (text) => {
      const reading = readToml(text);
      return reading.kind === "value" || (reading.line >= 1 && !reading.problem.includes("\n"));
    }),
  );
});
