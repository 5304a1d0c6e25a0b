/** What predicates can hold, beside the calls of `matching.test.ts`: the ones that never do, and the reason that an owner reads. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ARGUMENT_SHAPES, type ArgumentShape, holdsPredicate, Predicate, whyNeverHolds } from "../../src/rules/predicate.ts";

const PATH: ArgumentShape = { kind: "path", required: true };
const OPTIONAL_PATH: ArgumentShape = { kind: "path", required: false };
const URL_SHAPE: ArgumentShape = { kind: "url", required: true };
const TEXT: ArgumentShape = { kind: "text", required: true };

const NEEDED = "absent = true never holds: the tool needs this argument";
const EXCLUDES = "absent = true excludes every other condition";
const NO_NUMBER = "max never holds: this argument isn't a number";
const NO_PATH = "prefix never holds: expected an absolute path";
const NO_URL = "prefix never holds: expected the beginning of a URL up to a '/' of its path at least";
const NO_VALUE = "in never holds: no value in it is one that the other conditions and the tool allow";
const TOO_SHORT = "maxlen never holds: every value is longer";
const SHORT_OF_PREFIX = "maxlen never holds beside this prefix";

type Row = readonly [predicate: Predicate, shape: ArgumentShape, why: string | undefined];

const ROWS: readonly Row[] = [
  [{ absent: true }, PATH, NEEDED],
  [{ absent: true }, OPTIONAL_PATH, undefined],
  [{ absent: false }, PATH, undefined],
  [{ absent: false, prefix: "/srv" }, OPTIONAL_PATH, undefined],
  [{ absent: true, in: ["/srv"] }, OPTIONAL_PATH, EXCLUDES],
  [{ absent: true, prefix: "/srv" }, OPTIONAL_PATH, EXCLUDES],
  [{ absent: true, max: 1 }, OPTIONAL_PATH, EXCLUDES],
  [{ absent: true, maxlen: 10 }, OPTIONAL_PATH, EXCLUDES],
  [{ max: 1 }, TEXT, NO_NUMBER],
  [{ prefix: "srv" }, PATH, NO_PATH],
  [{ prefix: "/srv/" }, PATH, NO_PATH],
  [{ prefix: "/srv" }, PATH, undefined],
  [{ prefix: "srv" }, TEXT, undefined],
  [{ prefix: "https://example.com" }, URL_SHAPE, NO_URL],
  [{ prefix: "https://example.com/" }, URL_SHAPE, undefined],
  [{ prefix: "/srv" }, URL_SHAPE, NO_URL],
  [{ in: ["srv"] }, PATH, NO_VALUE],
  [{ in: ["srv", "/srv"] }, PATH, undefined],
  [{ in: ["example.com"] }, URL_SHAPE, NO_VALUE],
  [{ in: ["https://example.com/"] }, URL_SHAPE, undefined],
  [{ in: ["\ud800"] }, TEXT, NO_VALUE],
  [{ in: ["srv"] }, TEXT, undefined],
  [{ in: ["/srv/a"], prefix: "/srv/b" }, PATH, NO_VALUE],
  [{ in: ["/srv/a", "/srv/b/c"], prefix: "/srv/b" }, PATH, undefined],
  [{ in: ["abc"], maxlen: 2 }, TEXT, NO_VALUE],
  [{ in: ["abc"], maxlen: 3 }, TEXT, undefined],
  [{ maxlen: 1 }, PATH, TOO_SHORT],
  [{ maxlen: 2 }, PATH, undefined],
  [{ maxlen: 8 }, URL_SHAPE, TOO_SHORT],
  [{ maxlen: 9 }, URL_SHAPE, undefined],
  [{ maxlen: 0 }, TEXT, undefined],
  [{ prefix: "/srv", maxlen: 3 }, PATH, SHORT_OF_PREFIX],
  [{ prefix: "/srv", maxlen: 4 }, PATH, undefined],
  [{ prefix: "é", maxlen: 1 }, TEXT, SHORT_OF_PREFIX],
  [{ prefix: "é", maxlen: 2 }, TEXT, undefined],
];

describe("whyNeverHolds()", () => {
  for (const [predicate, shape, why] of ROWS) {
    test(`${JSON.stringify(predicate)} of ${shape.required ? "a" : "an optional"} ${shape.kind}: ${why ?? "can hold"}`, () => {
      assert.equal(whyNeverHolds(predicate, shape), why);
    });
  }
});

test("a predicate asks something, of its own conditions only, in whole numbers and with values to choose from", () => {
  const problemOf = (given: unknown): string => Predicate.safeParse(given).error?.issues[0]?.message ?? "accepted";
  assert.equal(problemOf({}), "expected one of in, prefix, max, maxlen, absent");
  assert.equal(problemOf({ in: [] }), "expected at least one value");
  assert.equal(problemOf({ prefix: "" }), "expected a beginning of a value");
  for (const wrong of [{ max: 1.5 }, { maxlen: -1 }, { absent: "yes" }, { in: [1] }, { prefix: "a", regex: "b" }]) {
    assert.equal(Predicate.safeParse(wrong).success, false, JSON.stringify(wrong));
  }
  for (const right of [{ in: ["a"] }, { prefix: "a" }, { max: 0 }, { maxlen: 0 }, { absent: false }]) {
    assert.deepEqual(Predicate.parse(right), right);
  }
});

test("each tool's arguments are the ones that its schema has, with what may be left out", () => {
  const shapes = Object.entries(ARGUMENT_SHAPES).map(([tool, all]) => [
    tool,
    [...all].map(([name, { kind, required }]) => `${name} ${kind}${required ? "" : ", optional"}`),
  ]);
  assert.deepEqual(Object.fromEntries(shapes), {
    read_file: ["path path"],
    write_file: ["path path", "content text"],
    shell: ["command text", "cwd path, optional"],
    http_fetch: ["url url"],
  });
});

describe("an argument that was left out fits", () => {
  for (const [predicate, fits] of [
    [{ absent: true }, true],
    [{ absent: false }, false],
    [{ in: ["/srv"] }, false],
    [{ prefix: "/srv" }, false],
    [{ max: 1 }, false],
    [{ maxlen: 1 }, false],
    [{ absent: true, maxlen: 1 }, false],
  ] as const) {
    test(`${JSON.stringify(predicate)}: ${fits ? "yes" : "no"}`, () =>
      assert.equal(holdsPredicate(predicate, "path", undefined), fits));
  }
});

test("a beginning that is no URL or no path is compared as it stands or holds for nothing", () => {
  assert.equal(holdsPredicate({ prefix: "not a url" }, "url", "https://example.com/"), false);
  assert.equal(holdsPredicate({ in: ["not a url"] }, "url", "not a url"), true);
  assert.equal(holdsPredicate({ prefix: "srv" }, "path", "srv"), false);
  assert.equal(holdsPredicate({ prefix: "/srv" }, "path", "/srv/"), false);
});
