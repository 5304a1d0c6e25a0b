import assert from "node:assert/strict";
import { test } from "node:test";
import { readForeignJson } from "@boxmaker/proto";

test("readForeignJson() takes what the strict reader refuses: fractions, exponents, signs, duplicate keys, lone surrogates", () => {
  assert.deepEqual(readForeignJson('{"a":-1.5e2,"a":2.5,"b":"\\ud800"}'), { kind: "value", value: { a: 2.5, b: "\ud800" } });
});

test("readForeignJson() refuses what is no JSON without quoting it", () => {
  for (const text of ["", "{", "nan", "{'a':1}", "[1,]"])
    assert.deepEqual(readForeignJson(text), { kind: "invalid", problem: "not JSON" });
});
