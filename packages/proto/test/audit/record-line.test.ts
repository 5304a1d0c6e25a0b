import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeRecordLine, LineSplitter, type LogLine, MAX_RECORD_BYTES, type RecordFields, readRecordLine } from "@boxmaker/proto";
import fc from "fast-check";
import { approval, decision, hashOf, LogBuilder, result, started, stopped } from "./log-builder.ts";

function fieldsOf(event: object, changes: object = {}): RecordFields {
  return JSON.parse(new LogBuilder().line(event, changes)) as RecordFields;
}

test("a record's line is its canonical JSON, and reads back as the same record", () => {
  for (const event of [started(0), decision(1, "ask", "/srv/ü"), approval(1, "refused", null, "nö"), result(1, 1), stopped()]) {
    const expected = new LogBuilder().line(event);
    const { record, line } = encodeRecordLine(fieldsOf(event));
    assert.equal(line, expected);
    assert.deepEqual(readRecordLine(Buffer.from(line)), { kind: "ok", value: record });
  }
});

test("the order in which a caller has made an event makes no difference to its line", () => {
  const event = result(1, 1);
  const turned = Object.fromEntries(Object.entries(event).toReversed());
  assert.equal(encodeRecordLine(fieldsOf(turned)).line, encodeRecordLine(fieldsOf(event)).line);
});

test("what the verifier would refuse can't be made into a line", () => {
  assert.throws(() => encodeRecordLine(fieldsOf({ ...stopped(), more: 1 })), RangeError);
  assert.throws(() => encodeRecordLine(fieldsOf(stopped(), { time: "now" })), RangeError);
  assert.throws(() => encodeRecordLine(fieldsOf(stopped(), { seq: 0 })), RangeError);
  assert.throws(() => encodeRecordLine(fieldsOf(approval(1, "refused", null, "\ud800"))), RangeError);
  assert.throws(() => encodeRecordLine(fieldsOf(approval(1, "refused", null, "x".repeat(MAX_RECORD_BYTES)))), RangeError);
});

test("text that only looks like half a surrogate pair is a record's text as any other", () => {
  const { line, record } = encodeRecordLine(fieldsOf(approval(1, "refused", null, "\\ud800 🗒")));
  assert.deepEqual(readRecordLine(Buffer.from(line)), { kind: "ok", value: record });
});

function split(chunks: readonly Uint8Array[]): LogLine[] {
  const lines: LogLine[] = [];
  const splitter = new LineSplitter((line) => {
    lines.push({ ...line, content: line.content === undefined ? undefined : Buffer.from(line.content) });
  });
  for (const chunk of chunks) {
    const reused = Buffer.from(chunk);
    splitter.push(reused);
    reused.fill(0x0a);
  }
  splitter.end();
  return lines;
}

test("any split of the bytes gives the same lines, with their hashes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 20 }).map((bytes) => bytes.map((byte) => (byte % 4 === 0 ? 0x0a : byte)))),
      (chunks) => {
        const whole = Buffer.concat(chunks);
        const parts = whole.toString("latin1").split("\n");
        const last = parts.pop() ?? "";
        const expected = parts.map((text) => ({ text, ended: true }));
        if (last !== "") expected.push({ text: last, ended: false });
        assert.deepEqual(
          split(chunks),
          expected.map(({ text, ended }) => {
            const content = Buffer.from(text, "latin1");
            return { bytes: content.length, sha256: hashOf(content), content, ended };
          }),
        );
      },
    ),
  );
});

test("a line longer than any record is measured and hashed, but not held", () => {
  const long = Buffer.alloc(MAX_RECORD_BYTES + 1, "x");
  const expected = { bytes: long.length, sha256: hashOf(long), content: undefined };
  const chunks = [long.subarray(0, 100), long.subarray(100), Buffer.from("\nshort\n")];
  assert.deepEqual(
    split(chunks).map(({ ended, ...line }) => ({ ...line, ended })),
    [
      { ...expected, ended: true },
      { bytes: 5, sha256: hashOf("short"), content: Buffer.from("short"), ended: true },
    ],
  );
  assert.deepEqual(split([Buffer.concat([long, Buffer.from("\n")])]), [{ ...expected, ended: true }]);
  assert.deepEqual(split([long]), [{ ...expected, ended: false }]);
  const longest = split([long.subarray(1), Buffer.from("\n")]);
  assert.equal(longest[0]?.content?.length, MAX_RECORD_BYTES);
});
