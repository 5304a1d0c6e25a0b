/** Frames cut out of any pieces. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeFrame, FrameDecoder, MAX_FRAME } from "../../src/index.ts";

type Ending = "closed" | "truncated" | { readonly tooLarge: number };

/** All that a stream of these chunks holds. */
function readAll(chunks: Iterable<Uint8Array>, decoder = new FrameDecoder()): { bodies: readonly string[]; ending: Ending } {
  const bodies: string[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk);
    for (let step = decoder.next(); step.kind !== "incomplete"; step = decoder.next()) {
      if (step.kind === "too_large") return { bodies, ending: { tooLarge: step.length } };
      bodies.push(step.body.toString());
    }
  }
  return { bodies, ending: decoder.end() };
}

function* split(bytes: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  let start = 0;
  for (const cut of [...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(start, cut);
    start = cut;
  }
}

function header(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

const bodies = fc.array(fc.string({ unit: "grapheme", maxLength: 40 }), { maxLength: 8 });

test("FrameDecoder gives the same frames however the bytes are cut", () => {
  fc.assert(
    fc.property(bodies, fc.array(fc.nat(1000), { maxLength: 12 }), (texts, cuts) => {
      const bytes = Buffer.concat(texts.map((text) => encodeFrame(text)));
      assert.deepEqual(readAll(split(bytes, cuts)), { bodies: texts, ending: "closed" });
    }),
    { numRuns: 300 },
  );
});

test("FrameDecoder gives the same frames one byte at a time", () => {
  fc.assert(
    fc.property(bodies, (texts) => {
      const bytes = Buffer.concat(texts.map((text) => encodeFrame(text)));
      const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
      assert.deepEqual(readAll(single), { bodies: texts, ending: "closed" });
    }),
  );
});

test("FrameDecoder says truncated for every beginning of a frame, and closed between frames", () => {
  const first = encodeFrame("first");
  const bytes = Buffer.concat([first, encodeFrame("second")]);
  for (let length = 0; length <= bytes.length; length++) {
    const { bodies: found, ending } = readAll([bytes.subarray(0, length)]);
    const isBetween = length === 0 || length === first.length || length === bytes.length;
    assert.equal(ending, isBetween ? "closed" : "truncated", `${length} bytes`);
    assert.equal(found.length, length === bytes.length ? 2 : Number(length >= first.length));
  }
});

test("FrameDecoder says too_large as soon as the four bytes of a length are there, one byte above the limit", () => {
  assert.equal(MAX_FRAME, 8_388_608);
  for (const length of [MAX_FRAME + 1, 2 ** 31, 2 ** 32 - 1]) {
    const decoder = new FrameDecoder();
    for (const byte of header(length).subarray(0, 3)) {
      decoder.push(Uint8Array.of(byte));
      assert.deepEqual(decoder.next(), { kind: "incomplete" });
    }
    decoder.push(header(length).subarray(3));
    assert.deepEqual(decoder.next(), { kind: "too_large", length });
    assert.deepEqual(decoder.next(), { kind: "too_large", length });
    assert.equal(decoder.end(), "truncated");
  }
});

test("FrameDecoder takes no memory for a body that hasn't come", () => {
  const before = process.memoryUsage().arrayBuffers;
  const decoders = Array.from({ length: 64 }, () => {
    const decoder = new FrameDecoder();
    decoder.push(header(MAX_FRAME));
    assert.deepEqual(decoder.next(), { kind: "incomplete" });
    return decoder;
  });
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.equal(decoders.length, 64);
  assert.ok(taken < MAX_FRAME, `took ${taken} bytes for 64 lengths of ${MAX_FRAME}`);
});

test("FrameDecoder holds at most twice the bytes it was given, in however many pieces", () => {
  const before = process.memoryUsage().arrayBuffers;
  const decoder = new FrameDecoder();
  decoder.push(header(MAX_FRAME));
  const piece = new Uint8Array(1000);
  for (let given = 0; given + piece.length < MAX_FRAME; given += piece.length) {
    decoder.push(piece);
    assert.deepEqual(decoder.next(), { kind: "incomplete" });
  }
  globalThis.gc?.();
  // Without a collection the outgrown buffers, together as large as the last one, may still be counted.
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.ok(taken < 4 * MAX_FRAME, `took ${taken} bytes`);
});

test("a frame of exactly MAX_FRAME bytes goes through, one more is refused by both sides", () => {
  const largest = "x".repeat(MAX_FRAME);
  const { bodies: found, ending } = readAll(split(encodeFrame(largest), [1, 5, 70_000, 8_000_000]));
  assert.equal(found.length, 1);
  assert.equal(found[0] === largest, true);
  assert.equal(ending, "closed");
  assert.throws(() => encodeFrame(`${largest}x`), RangeError);
  // The limit is in bytes, not in characters.
  assert.throws(() => encodeFrame("é".repeat(MAX_FRAME / 2 + 1)), RangeError);
});

test("FrameDecoder keeps a smaller limit that it was given, and never a larger one than MAX_FRAME", () => {
  assert.deepEqual(readAll([encodeFrame("12345")], new FrameDecoder(5)), { bodies: ["12345"], ending: "closed" });
  assert.deepEqual(readAll([encodeFrame("123456")], new FrameDecoder(5)), { bodies: [], ending: { tooLarge: 6 } });
  assert.deepEqual(readAll([header(MAX_FRAME + 1)], new FrameDecoder(2 ** 40)), {
    bodies: [],
    ending: { tooLarge: MAX_FRAME + 1 },
  });
});

test("FrameDecoder gives each body as the caller's own copy", () => {
  const decoder = new FrameDecoder();
  const bytes = Buffer.concat([encodeFrame("first"), encodeFrame("second")]);
  decoder.push(bytes);
  const first = decoder.next();
  bytes.fill(0);
  assert.ok(first.kind === "frame");
  first.body.fill(0x78);
  const second = decoder.next();
  assert.ok(second.kind === "frame");
  assert.equal(second.body.toString(), "second");
});

test("FrameDecoder keeps no large buffer alive for a small body", () => {
  const decoder = new FrameDecoder();
  decoder.push(Buffer.concat([encodeFrame("small"), encodeFrame("x".repeat(1_000_000))]));
  const small = decoder.next();
  assert.ok(small.kind === "frame");
  assert.ok(small.body.buffer.byteLength < 100_000);
});

test("FrameDecoder reads many small frames of one write without copying the rest for each", () => {
  const count = 100_000;
  const bytes = Buffer.alloc(4 * count);
  const { bodies: found, ending } = readAll([bytes]);
  assert.equal(found.length, count);
  assert.equal(ending, "closed");
});
