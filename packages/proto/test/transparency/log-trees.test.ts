import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { test } from "node:test";
import {
  type AuditEvent,
  AuditSeq,
  canonicalJson,
  encodeRecordLine,
  type Hash32,
  sha256,
  Timestamp,
  ZERO_HASH,
} from "@boxmaker/proto";
import {
  CompactTree,
  dayCheckpointFile,
  hashLeaf,
  LogTrees,
  openStored,
  readDayCheckpointFile,
  readStoredCheckpoint,
  signNote,
  TreeComparison,
  treeOrigin,
  writeCheckpoint,
  writeSignedNote,
} from "@boxmaker/proto/transparency";
import fc from "fast-check";

const KEY = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${"05".repeat(32)}`, "hex"),
  format: "der",
  type: "pkcs8",
});

interface Line {
  readonly seq: number;
  readonly text: string;
  readonly leaf: Hash32;
  readonly event: AuditEvent;
}

const STOPPED: AuditEvent = { kind: "stopped" };

/** The lines of a log of these events. */
function linesOf(events: readonly AuditEvent[]): readonly Line[] {
  let prev = ZERO_HASH;
  return events.map((event, index) => {
    const fields = { seq: AuditSeq.parse(index + 1), time: Timestamp.parse("2026-01-05T08:00:00.000Z"), prev, event };
    const { line } = encodeRecordLine(fields);
    prev = sha256(line);
    return { seq: index + 1, text: line, leaf: hashLeaf(Buffer.from(line)), event };
  });
}

function stoppedTimes(count: number): readonly Line[] {
  return linesOf(Array<AuditEvent>(count).fill(STOPPED));
}

const LOSS: AuditEvent = { kind: "accepted_loss", origin: treeOrigin(sha256("x")), size: 9, root: sha256("y"), found: 3 };

/** A stored checkpoint over all of these lines, as bytes. */
function storedOver(lines: readonly Line[]): Buffer {
  const trees = new LogTrees();
  for (const { seq, event, leaf } of lines) trees.add({ seq, event }, leaf);
  const { tree } = trees;
  assert.ok(tree !== undefined);
  const text = writeCheckpoint({ origin: tree.origin, size: tree.size, root: trees.root(), extensions: [] });
  const note = writeSignedNote({ text, signatures: [signNote(text, tree.origin, KEY)] });
  const { first, before } = trees.store();
  return Buffer.from(canonicalJson({ note, first, before, last: { file: "2026-01-05.jsonl", offset: 0, bytes: 1 } }));
}

test("LogTrees has one tree over all records, which goes on from any of them", () => {
  const lines = stoppedTimes(20);
  const whole = new CompactTree();
  const trees = new LogTrees();
  assert.equal(trees.tree, undefined);
  for (const { seq, event, leaf } of lines) {
    trees.add({ seq, event }, leaf);
    whole.push(leaf);
    assert.equal(trees.root(), whole.root());
    assert.deepEqual(trees.tree, { origin: treeOrigin(lines[0]?.leaf ?? leaf), first: 1, size: seq });
    const resumed = LogTrees.from(trees.store(), leaf);
    assert.deepEqual(resumed.tree, trees.tree);
    assert.equal(resumed.root(), trees.root());
  }
});

test("a record that accepts a loss is the first of a new tree", () => {
  const lines = linesOf([STOPPED, STOPPED, LOSS, STOPPED]);
  const trees = new LogTrees();
  for (const { seq, event, leaf } of lines) trees.add({ seq, event }, leaf);
  assert.deepEqual(trees.tree, { origin: treeOrigin(lines[2]?.leaf ?? ZERO_HASH), first: 3, size: 2 });
});

test("openStored() takes the record that was signed last, and no other line", () => {
  for (const count of [1, 2, 3, 8, 13]) {
    const lines = stoppedTimes(count);
    const reading = readStoredCheckpoint(storedOver(lines));
    assert.ok(reading.kind === "ok");
    const { value } = reading;
    for (const { seq, text } of lines) {
      const opened = openStored(value, Buffer.from(text));
      assert.equal(opened?.tree?.size, seq === count ? count : undefined);
    }
    assert.equal(openStored(value, Buffer.from("{}")), undefined);
    assert.equal(openStored({ ...value, first: 2 }, Buffer.from(lines.at(-1)?.text ?? "")), undefined);
    const before = { ...value.before, hashes: [...value.before.hashes, ZERO_HASH] };
    assert.equal(openStored({ ...value, before }, Buffer.from(lines.at(-1)?.text ?? "")), undefined);
  }
});

test("readStoredCheckpoint() reads any bytes without an exception, and refuses what was cut anywhere", () => {
  const bytes = storedOver(stoppedTimes(5));
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(readStoredCheckpoint(bytes.subarray(0, length)).kind, "invalid");
  }
  fc.assert(fc.property(fc.uint8Array(), (any) => readStoredCheckpoint(any).kind === "invalid"));
});

test("TreeComparison says what a log has instead of what was signed", () => {
  const lines = stoppedTimes(9);
  const origin = treeOrigin(lines[0]?.leaf ?? ZERO_HASH);
  const tree = new CompactTree();
  for (const { leaf } of lines.slice(0, 6)) tree.push(leaf);
  const signed = { origin, size: 6, root: tree.root(), extensions: [] };
  const differenceOf = (expected: typeof signed, some: readonly Line[]): string | undefined => {
    const comparison = new TreeComparison(expected);
    for (const { seq, event, leaf } of some) comparison.add({ seq, event }, leaf);
    return comparison.difference;
  };
  for (const count of [6, 7, 9]) assert.equal(differenceOf(signed, lines.slice(0, count)), undefined);
  assert.equal(differenceOf(signed, [...lines.slice(0, 6), ...linesOf([STOPPED, STOPPED, LOSS]).slice(2)]), undefined);
  assert.equal(differenceOf(signed, lines.slice(0, 5)), "5 records, so its tail was cut off");
  assert.equal(differenceOf(signed, []), "no record");
  assert.equal(differenceOf({ ...signed, root: ZERO_HASH }, lines), "other records, so it was rewritten");
  const other = { ...signed, origin: treeOrigin(ZERO_HASH) };
  assert.equal(differenceOf(other, lines), "another first record, so it is another log or was rewritten as a whole");
  assert.equal(
    differenceOf(other, linesOf([STOPPED, LOSS])),
    "no tree of this name, so it is another log or was rewritten as a whole",
  );
});

test("names of a day's checkpoints are a real day and the seq of a first record", () => {
  assert.deepEqual(readDayCheckpointFile(dayCheckpointFile("2026-11-29", 41)), { day: "2026-11-29", first: 41 });
  const wrong = ["2026-02-30.1.note", "2026-11-29.0.note", "2026-11-29.01.note", "2026-11-29.note", ".2026-11-29.1.note.new"];
  for (const name of [...wrong, "2026-11-29.9999999999999999.note", "newest.json", "keys", ""]) {
    assert.equal(readDayCheckpointFile(name), undefined, name);
  }
});
