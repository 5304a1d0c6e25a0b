import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeLayoutText } from "@boxmaker/proto";
import fc from "fast-check";
import { DeltaEscaper } from "../../src/terminal/delta-escaper.ts";
import { BROKEN, findUnsafe } from "../support/corpus.ts";

test("text cut anywhere, in the middle of a character too, is escaped as the whole would be", () => {
  const hostile = fc.array(fc.oneof(fc.constantFrom(...BROKEN), fc.string({ unit: "binary" })), { maxLength: 5 });
  fc.assert(
    fc.property(hostile, fc.array(fc.nat(60)), (parts, cuts) => {
      const whole = parts.join("");
      const escaper = new DeltaEscaper();
      let escaped = "";
      let from = 0;
      for (const cut of cuts.toSorted((a, b) => a - b)) {
        escaped += escaper.push(whole.slice(from, Math.max(from, cut)));
        from = Math.max(from, cut);
      }
      escaped += escaper.push(whole.slice(from)) + escaper.end();
      assert.equal(escaped, escapeLayoutText(whole));
      assert.equal(findUnsafe(escaped), undefined);
    }),
  );
});

test("half a character waits for its other half, and is escaped when that doesn't come", () => {
  const escaper = new DeltaEscaper();
  assert.deepEqual(
    [escaper.push("hi \ud83d"), escaper.push("\ude00!"), escaper.push("\ud83d"), escaper.end()],
    ["hi ", "😀!", "", "\\ud83d"],
  );
});
