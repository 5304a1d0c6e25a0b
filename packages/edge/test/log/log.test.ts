import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, openLog } from "@boxmaker/edge/log";
import fc from "fast-check";

function lineOf(event: string, fields: LogFields): string {
  const lines: string[] = [];
  openLog(
    (line) => lines.push(line),
    () => 0,
  ).info(event, fields);
  assert.equal(lines.length, 1);
  return lines[0] ?? "";
}

test("a log line has time, level, event and fields, plain words bare and everything else quoted", () => {
  assert.equal(
    lineOf("ran", { tool: "read_file", path: "/srv/my notes", ok: true, count: 3, reason: null }),
    '1970-01-01T00:00:00.000Z info ran tool=read_file path="/srv/my notes" ok=true count=3 reason=null\n',
  );
});

test("nothing inside a value can forge a line or a field", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      const line = lineOf("e", { a: value, b: 1 });
      assert.match(line, /^1970-01-01T00:00:00\.000Z info e a=(?:[A-Za-z0-9_.:/@+-]+|"(?:[^"\\\p{C}\p{Zl}\p{Zp}]|\\.)*") b=1\n$/u);
    }),
  );
});

test("a value of a megabyte is cut, and says so", () => {
  const line = lineOf("e", { a: "x".repeat(1_000_000) });
  assert.ok(line.length < 3000);
  assert.ok(line.includes("…"));
});
