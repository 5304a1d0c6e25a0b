/** Envelopes: what reading a frame ends in, and that nothing is sent which a peer would refuse. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  AdminAnswer,
  AnyRequest,
  BoxDone,
  BrokerAnswer,
  decodeMessage,
  encodeFrame,
  encodeMessage,
  FrameDecoder,
  LoopAnswer,
  LoopRequest,
  MAX_FRAME,
} from "../../src/index.ts";
import { loadFixtures } from "../support/fixtures.ts";

function outcomeOf(text: string): string {
  const decoded = decodeMessage(LoopRequest, Buffer.from(text));
  return decoded.kind === "message" ? "message" : `${decoded.kind}: ${decoded.detail}`;
}

/** Everything that reading a stream comes to: the messages, then the one outcome that ends it. */
function readStream(chunks: Iterable<Uint8Array>): { messages: readonly unknown[]; ending: string } {
  const decoder = new FrameDecoder();
  const messages: unknown[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk);
    for (let step = decoder.next(); step.kind !== "incomplete"; step = decoder.next()) {
      if (step.kind === "too_large") return { messages, ending: "too_large" };
      const decoded = decodeMessage(AnyRequest, step.body);
      if (decoded.kind !== "message") return { messages, ending: decoded.kind };
      messages.push(decoded.envelope);
    }
  }
  return { messages, ending: decoder.end() };
}

const REQUESTS = "'turn' | 'cancel' | 'sessions' | 'rewind_point' | 'rewind' | 'compact'";

const HOSTILE: readonly (readonly [text: string, outcome: string])[] = [
  ["", "bad_frame: not JSON"],
  ["hello", "bad_frame: not JSON"],
  ['{"v":1,"id":3,"final":true,"kind":"sessions","body":{}', "bad_frame: not JSON"],
  ['{"v":1,"id":3,"final":true,"kind":"sessions","body":{}}{}', "bad_frame: not JSON"],
  ['{"v":1,"v":1,"id":3,"final":true,"kind":"sessions","body":{}}', 'bad_frame: a duplicate key "v" at offset 7'],
  ["null", "bad_message: Invalid input: expected object, received null"],
  ["[]", "bad_message: Invalid input: expected object, received array"],
  ["{}", "bad_message: v: Invalid input: expected number, received undefined"],
  ['{"v":2,"id":3,"final":true,"kind":"sessions","body":{}}', "bad_version: expected version 1, got 2"],
  ['{"v":0,"id":3,"final":true,"kind":"sessions","body":{}}', "bad_version: expected version 1, got 0"],
  ['{"v":9007199254740991,"new":[],"shape":{}}', "bad_version: expected version 1, got 9007199254740991"],
  ['{"v":"1","id":3,"final":true,"kind":"sessions","body":{}}', "bad_message: v: Invalid input: expected number, received string"],
  ['{"v":1,"id":null,"final":true,"kind":"sessions","body":{}}', "bad_message: id: Invalid input: expected number, received null"],
  ['{"v":1,"id":3,"final":true,"kind":"sessions","body":{},"trace":"x"}', 'bad_message: Unrecognized key: "trace"'],
  ['{"v":1,"id":3,"final":true,"kind":"sessions","body":{"all":true}}', 'bad_message: "sessions": body: Unrecognized key: "all"'],
  ['{"v":1,"id":3,"final":true,"kind":"sessions"}', "bad_message: body: Invalid input: expected nonoptional, received undefined"],
  [
    '{"v":1,"id":3,"final":true,"kind":"sessions","body":null}',
    'bad_message: "sessions": body: Invalid input: expected object, received null',
  ],
  [
    '{"v":1,"id":3,"final":true,"kind":"approvals","body":{}}',
    `bad_message: "approvals": kind: Invalid discriminator value. Expected ${REQUESTS}`,
  ],
  [
    '{"v":1,"id":3,"final":true,"kind":"toString","body":{}}',
    `bad_message: "toString": kind: Invalid discriminator value. Expected ${REQUESTS}`,
  ],
  [
    '{"v":1,"id":3,"final":true,"kind":"\\u001b[2J\u202e","body":{}}',
    `bad_message: "\\u001b[2J\\u202e": kind: Invalid discriminator value. Expected ${REQUESTS}`,
  ],
  [
    `{"v":1,"id":3,"final":true,"kind":"${"k".repeat(65)}","body":{}}`,
    "bad_message: kind: Too big: expected string to have <=64 characters",
  ],
  ['{"v":1,"id":3,"final":true,"kind":"sessions","body":{}}', "message"],
  [' {"kind":"sessions","body":{},"final":true,"id":3,"v":1} ', "message"],
];

test("decodeMessage() ends in exactly one outcome, with a detail that is one printable line", () => {
  for (const [text, outcome] of HOSTILE) assert.equal(outcomeOf(text), outcome, text);
  assert.deepEqual(decodeMessage(LoopRequest, Uint8Array.of(0xff)), { kind: "bad_frame", detail: "not UTF-8" });
});

test("random bytes never make the reader throw", () => {
  const endings = new Set(["closed", "truncated", "too_large", "bad_frame", "bad_version", "bad_message"]);
  const frameOf = fc.uint8Array({ maxLength: 60 }).map((bytes) => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(bytes.length);
    return Buffer.concat([head, bytes]);
  });
  const chunk = fc.oneof(fc.uint8Array({ maxLength: 60 }), frameOf, fc.json({ maxDepth: 2 }).map(encodeFrame));
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 4 }), (chunks) => {
      const { messages, ending } = readStream(chunks);
      assert.ok(endings.has(ending), ending);
      assert.deepEqual(messages, []);
    }),
    { numRuns: 3000 },
  );
});

test("any cut of the bytes of any messages gives the same messages", () => {
  const requests = loadFixtures().filter(({ format }) => format.endsWith("Request"));
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...requests), { maxLength: 6 }),
      fc.array(fc.nat(3000), { maxLength: 8 }),
      fc.boolean(),
      (chosen, cuts, single) => {
        const bytes = Buffer.concat(chosen.map(({ text }) => encodeFrame(text)));
        const at = single
          ? Array.from(bytes, (_, index) => index)
          : cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
        const chunks = [...at, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end));
        const { messages, ending } = readStream(chunks);
        assert.equal(ending, "closed");
        const expected = chosen.map(({ text }) => readStream([encodeFrame(text)]).messages[0]);
        assert.deepEqual(messages, expected);
      },
    ),
    { numRuns: 200 },
  );
});

test("what came before a broken frame has been read", () => {
  const good = encodeFrame('{"v":1,"id":3,"final":true,"kind":"sessions","body":{}}');
  for (const [bytes, ending] of [
    [encodeFrame("{"), "bad_frame"],
    [encodeFrame('{"v":2}'), "bad_version"],
    [encodeFrame("{}"), "bad_message"],
    [Buffer.from([0xff, 0xff, 0xff, 0xff]), "too_large"],
    [Buffer.from([0, 0, 0, 9, 0x7b]), "truncated"],
    [Buffer.alloc(0), "closed"],
  ] as const) {
    const read = readStream([Buffer.concat([good, good, bytes])]);
    assert.equal(read.messages.length, 2);
    assert.equal(read.ending, ending);
  }
});

test("AnyRequest knows the requests of every socket, and no answer", () => {
  for (const { format, name, text } of loadFixtures()) {
    if (!/^(?:Loop|Broker|Admin)(?:Request|Answer)$/u.test(format)) continue;
    const { kind } = decodeMessage(AnyRequest, Buffer.from(text));
    assert.equal(kind, format.endsWith("Request") ? "message" : "bad_message", name);
  }
});

test("decodeMessage() takes no kind of another socket", () => {
  const sets = {
    LoopRequest: (bytes: Buffer) => decodeMessage(LoopRequest, bytes).kind,
    LoopAnswer: (bytes: Buffer) => decodeMessage(LoopAnswer, bytes).kind,
    BrokerAnswer: (bytes: Buffer) => decodeMessage(BrokerAnswer, bytes).kind,
    AdminAnswer: (bytes: Buffer) => decodeMessage(AdminAnswer, bytes).kind,
  };
  for (const { format, name, text } of loadFixtures()) {
    if (!/^(?:Loop|Broker|Admin|Box)/u.test(format)) continue;
    for (const [set, outcomeIn] of Object.entries(sets)) {
      const isShared =
        set.endsWith("Answer") &&
        (name.endsWith("/error") || (name.endsWith("/ok") && format !== "BoxDone" && set !== "BrokerAnswer"));
      if (format !== set && !isShared) assert.equal(outcomeIn(Buffer.from(text)), "bad_message", `${name} as ${set}`);
    }
  }
});

test("a frame of as many wrong elements as the reader takes is refused with the first of them", () => {
  const body = `{"approvals":[${"0,".repeat(262_000)}0]}`;
  const text = `{"v":1,"id":1,"final":true,"kind":"approval_list","body":${body}}`;
  assert.deepEqual(decodeMessage(AdminAnswer, Buffer.from(text)), {
    kind: "bad_message",
    detail: '"approval_list": body.approvals.0: Invalid input: expected object, received number',
  });
});

const done = (content: string) => ({ kind: "box_done", body: { status: "ok", content, truncated: false } }) as const;

test("encodeMessage() throws for what a peer would refuse", () => {
  assert.throws(() => encodeMessage(BoxDone, { id: 1, final: true, message: done("half \ud83d of a pair") }), RangeError);
  assert.throws(() => encodeMessage(BoxDone, { id: -1, final: true, message: done("") }));
  assert.throws(() => encodeMessage(BoxDone, { id: 0.5, final: true, message: done("") }));
  assert.throws(() => encodeMessage(BoxDone, { id: 2 ** 53, final: true, message: done("") }));
  assert.throws(() => encodeMessage(BoxDone, { id: 1, final: true, message: done("x".repeat(MAX_FRAME)) }), RangeError);
  const report = { grants: 0, problems: Array.from({ length: 100_000 }, () => ({ file: "", line: 0, problem: "" })) };
  assert.throws(
    () => encodeMessage(AdminAnswer, { id: 1, final: true, message: { kind: "grants_report", body: report } }),
    RangeError,
  );
  const extra = { ...done(""), body: { ...done("").body, extra: 1 } };
  assert.throws(() => encodeMessage(BoxDone, { id: 1, final: true, message: extra }));
});

test("encodeMessage() sends any whole text, and what is sent is read again", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.maxSafeNat(), fc.boolean(), (content, id, final) => {
      const envelope = { id, final, message: done(content) };
      const frame = encodeMessage(BoxDone, envelope);
      assert.deepEqual(decodeMessage(BoxDone, frame.subarray(4)), { kind: "message", envelope });
    }),
  );
  const spelled = encodeMessage(BoxDone, { id: 1, final: true, message: done("the letters \\ud83d, not the character") });
  assert.equal(decodeMessage(BoxDone, spelled.subarray(4)).kind, "message");
});
