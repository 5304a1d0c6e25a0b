import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { boundText } from "../src/bounded-text.ts";

test("text that fits is whole, whatever its bytes are", () => {
  assert.deepEqual(boundText(Buffer.from("\u{feff}grüße"), 10, false), { text: "\u{feff}grüße", dropped: 0 });
  assert.deepEqual(boundText(Buffer.from([0x61, 0xff]), 4, false), { text: "a\u{fffd}", dropped: 0 });
  assert.deepEqual(boundText(Buffer.alloc(0), 0, false), { text: "", dropped: 0 });
});

test("replaced bytes count as long as what replaces them", () => {
  assert.deepEqual(boundText(Buffer.from([0x61, 0xff, 0xff, 0x62]), 4, false), { text: "a\u{fffd}", dropped: 2 });
  assert.deepEqual(boundText(Buffer.alloc(3000, 0xff), 1000, true), { text: "\u{fffd}".repeat(333), dropped: 2667 });
});

test("a character that is cut in two is left out, and one that ends there is replaced", () => {
  const half = Buffer.from("aü").subarray(0, 2);
  assert.equal(boundText(half, 100, true).text, "a");
  assert.equal(boundText(half, 100, false).text, "a\u{fffd}");
  assert.deepEqual(boundText(Buffer.from("aüb"), 2, false), { text: "a", dropped: 2 });
});

test("the text is never longer than the cap, and nothing that fits is left out", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(60), fc.boolean(), (bytes, cap, isCut) => {
      const all = Buffer.from(bytes);
      const { text, dropped } = boundText(all, cap, isCut);
      assert.ok(Buffer.byteLength(text) <= cap);
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      assert.ok(decoder.decode(all).startsWith(text));
      if (dropped > 0) {
        const next = new TextDecoder("utf-8", { ignoreBOM: true }).decode(all.subarray(0, all.length - dropped + 1), {
          stream: true,
        });
        assert.ok(Buffer.byteLength(next) > cap || all.length - dropped === cap);
      }
    }),
  );
});
