/** One spelling for each value. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import { canonicalJson, Label, readJson, sha256, ToolCall } from "../../src/index.ts";
import { readCanonicalJson } from "../../src/json/read-canonical-json.ts";

const label = fc.record({ taint: fc.constantFrom("public", "private", "secret"), untrusted: fc.boolean() });

test("canonicalJson() comes back through the strict reader as the same value and the same text", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: "binary" }), fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeNat(), label)),
      (value) => {
        const text = canonicalJson(value);
        const reading = readJson(text);
        assert.ok(reading.kind === "value");
        assert.equal(canonicalJson(reading.value), text);
      },
    ),
  );
});

test("canonicalJson() of a parsed value is in the schema's order, whatever order the keys came in", () => {
  const orders = [
    { tool: "shell", arguments: { command: "ls", cwd: "/srv" } },
    { arguments: { cwd: "/srv", command: "ls" }, tool: "shell" },
  ];
  for (const order of orders) {
    assert.equal(canonicalJson(ToolCall.parse(order)), '{"tool":"shell","arguments":{"command":"ls","cwd":"/srv"}}');
  }
});

test("canonicalJson() leaves absent keys out and writes text as it is, but for what JSON must escape", () => {
  const call = ToolCall.parse({ tool: "shell", arguments: { command: 'é 👩 "\\/\u007f\u2028\n\u0001' } });
  assert.equal(canonicalJson(call), '{"tool":"shell","arguments":{"command":"é 👩 \\"\\\\/\u007f\u2028\\n\\u0001"}}');
  assert.equal(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("canonicalJson() throws for what is no JSON value", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const value of [undefined, () => 0, Symbol("a"), 1n, cycle]) assert.throws(() => canonicalJson(value), TypeError);
});

function outcomeOf(text: string): string {
  return readCanonicalJson(Label, Buffer.from(text)).kind;
}

test("readCanonicalJson() takes the one spelling of a value and tells no JSON from another spelling", () => {
  assert.equal(outcomeOf('{"taint":"public","untrusted":false}'), "ok");
  for (const text of ["", '{"taint":"public"', "\ufeff{}", '{"taint":"public","untrusted":false}}'])
    assert.equal(outcomeOf(text), "not_json", text);
  assert.equal(readCanonicalJson(Label, Uint8Array.of(0xff)).kind, "not_json");
  for (const text of [
    '{"untrusted":false,"taint":"public"}',
    '{"taint":"public", "untrusted":false}',
    '{"taint":"public","untrusted":false}\n',
    '{"taint":"public","taint":"public","untrusted":false}',
    '{"taint":"secret","untrusted":false,"taint":"public"}',
    '{"taint":"p\\u0075blic","untrusted":false}',
    '{"taint":"public","untrusted":false,"__proto__":null}',
    "[]",
    "{}",
  ]) {
    assert.equal(outcomeOf(text), "not_canonical", text);
  }
});

test("readCanonicalJson() refuses what survives a round: numbers by another name, lone surrogates", () => {
  const Numbers = z.strictObject({ n: z.number(), s: z.string() });
  const kind = (text: string): string => readCanonicalJson(Numbers, Buffer.from(text)).kind;
  assert.equal(kind('{"n":1,"s":"\\\\ud800"}'), "ok");
  for (const text of ['{"n":1.0,"s":""}', '{"n":-0,"s":""}', '{"n":1e2,"s":""}', '{"n":1,"s":"\\ud800"}', '{"n":1,"s":"\\/"}']) {
    assert.equal(kind(text), "not_canonical", text);
  }
});
