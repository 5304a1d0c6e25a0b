import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cutText } from "../../src/turn/cut-text.ts";

test("cutText() leaves what fits, to the byte", () => {
  assert.deepEqual(cutText("ä".repeat(128), 256), { text: "ä".repeat(128), cut: false });
});

test("cutText() cuts at a character's boundary, within the limit, and says how much there was", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "ä", "🦀"), minLength: 300, maxLength: 600 }),
      fc.integer({ min: 256, max: 299 }),
      (text, max) => {
        const { text: shown, cut } = cutText(text, max);
        assert.ok(cut);
        assert.ok(Buffer.byteLength(shown) <= max);
        assert.ok(shown.isWellFormed() && !shown.includes("\ufffd"));
        const [kept = "", note] = shown.split("\n[cut: ");
        assert.ok(text.startsWith(kept));
        assert.equal(note, `the first part of ${Buffer.byteLength(text)} bytes]`);
      },
    ),
  );
});
