/** Shapes: what a wrong value is answered with, and what a right one can't be changed to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import { escapeText, Label, parseJson, parseJsonBytes, parseShape, Usage } from "../../src/index.ts";

function problemOf(text: string): string {
  const parsed = parseJson(Label, text);
  return parsed.kind === "invalid" ? parsed.problem : "none";
}

test("parseJson() names the place and what was expected there", () => {
  assert.equal(problemOf('{"taint":"public","untrusted":false}'), "none");
  assert.equal(problemOf('{"taint":"public"}'), "untrusted: Invalid input: expected boolean, received undefined");
  assert.equal(
    problemOf('{"taint":"Public","untrusted":false}'),
    'taint: Invalid option: expected one of "public"|"private"|"secret"',
  );
  assert.equal(problemOf('{"taint":"public","untrusted":false,"a":1}'), 'Unrecognized key: "a"');
  assert.equal(problemOf("[]"), "Invalid input: expected object, received array");
  assert.equal(problemOf("{"), "not JSON");
  assert.deepEqual(parseJsonBytes(Label, Uint8Array.of(0xff)), { kind: "invalid", problem: "not UTF-8" });
});

test("parseJson() refuses keys that JavaScript objects have by themselves", () => {
  for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype"]) {
    assert.equal(problemOf(`{"taint":"public","untrusted":false,"${key}":{}}`), `Unrecognized key: "${key}"`);
  }
  assert.notEqual(problemOf('{"__proto__":{"taint":"public","untrusted":false}}'), "none");
  const inherited: unknown = Object.create({ taint: "public", untrusted: false });
  assert.equal(parseShape(Label, inherited).kind, "ok", "for data that isn't from readJson, inherited keys count");
});

test("parseShape() escapes keys that a peer chose, cuts them, and leaves no half of a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 400 }), (key) => {
      const parsed = parseShape(Label, { taint: "public", untrusted: false, [key]: 1 });
      if (parsed.kind === "ok") return fc.pre(false);
      assert.equal(parsed.problem, escapeText(parsed.problem));
      assert.ok(parsed.problem.isWellFormed());
      assert.ok(parsed.problem.length <= 6 * 300);
    }),
  );
});

test("parseShape() cuts a long key wherever the limit falls, within a pair too", () => {
  for (let length = 270; length < 300; length++) {
    const parsed = parseShape(Label, { taint: "public", untrusted: false, [`${"a".repeat(length)}👩${"b".repeat(100)}`]: 1 });
    assert.ok(parsed.kind === "invalid");
    assert.ok(parsed.problem.isWellFormed(), String(length));
  }
});

test("parseShape() gives a new, frozen value and leaves the data as it was", () => {
  const data = { prompt: 1, completion: 2, cached: null };
  const parsed = parseShape(Usage, data);
  assert.ok(parsed.kind === "ok");
  assert.notEqual(parsed.value, data);
  assert.ok(Object.isFrozen(parsed.value));
  assert.ok(!Object.isFrozen(data));
});

test("parseShape() of a foreign shape ignores unknown keys and checks what is used", () => {
  const Foreign = z.object({ used: z.number() });
  assert.deepEqual(parseShape(Foreign, { used: 0.5, unknown: [] }), { kind: "ok", value: { used: 0.5 } });
  assert.equal(parseShape(Foreign, { unknown: [] }).kind, "invalid");
});
