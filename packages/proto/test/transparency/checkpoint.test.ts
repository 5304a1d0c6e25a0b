import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { test } from "node:test";
import { type Hash32, sha256 } from "@boxmaker/proto";
import {
  type Checkpoint,
  CompactTree,
  hashLeaf,
  inclusionSpans,
  isIncluded,
  openNote,
  rawPublicKey,
  readCheckpoint,
  readSignedNote,
  readTlogProof,
  SpanHasher,
  signNote,
  treeOrigin,
  verifierKey,
  writeCheckpoint,
  writeTlogProof,
} from "@boxmaker/proto/transparency";
import fc from "fast-check";

/** The example of the C2SP specification, with a witness's cosignature. */
const SPEC_CHECKPOINT = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`;

const KEY = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${"07".repeat(32)}`, "hex"),
  format: "der",
  type: "pkcs8",
});

function hash(): fc.Arbitrary<Hash32> {
  return fc.string().map((text) => sha256(text));
}

test("readCheckpoint() reads the specification's example, and its cosignature is kept", () => {
  const reading = readSignedNote(Buffer.from(SPEC_CHECKPOINT));
  if (reading.kind === "invalid") assert.fail(reading.problem);
  assert.deepEqual(readCheckpoint(reading.note.text), {
    kind: "ok",
    checkpoint: {
      origin: "example.com/behind-the-sofa",
      size: 20_852_163,
      root: "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62",
      extensions: [],
    },
  });
  assert.deepEqual(
    reading.note.signatures.map(({ name, keyId }) => [name, keyId]),
    [
      ["example.com/behind-the-sofa", "033de0ae"],
      ["witness.example.com/w1", "8d66cf3f"],
    ],
  );
});

test("a checkpoint is read back as it was written, extension lines and all", () => {
  const line = fc.string({ minLength: 1 }).filter((text) => !text.includes("\n"));
  const fields = {
    origin: line,
    size: fc.maxSafeNat(),
    root: hash(),
    extensions: fc.array(line),
  };
  const checkpoint: fc.Arbitrary<Checkpoint> = fc.record(fields, { noNullPrototype: true });
  fc.assert(
    fc.property(checkpoint, (written) => {
      assert.deepEqual(readCheckpoint(writeCheckpoint(written)), { kind: "ok", checkpoint: written });
    }),
  );
});

test("readCheckpoint() refuses what is no checkpoint, and says what it expected", () => {
  const root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
  for (const [text, expected] of [
    ["a", /each with a newline/u],
    ["a\n1\n", /origin, size and root/u],
    [`a\n1\n${root}`, /each with a newline/u],
    [`\n1\n${root}\n`, /aren't empty/u],
    [`a\n1\n${root}\n\n`, /aren't empty/u],
    [`a\n01\n${root}\n`, /a number of records, found "01"/u],
    [`a\n-1\n${root}\n`, /a number of records/u],
    [`a\n1e3\n${root}\n`, /a number of records/u],
    [`a\n 1\n${root}\n`, /a number of records/u],
    [`a\n9007199254740992\n${root}\n`, /a number of records/u],
    [`a\n1\n${root.slice(0, -1)}\n`, /the base64 of 32 bytes/u],
    [`a\n1\n${root.replaceAll("+", "-")}x\n`, /the base64 of 32 bytes/u],
    ["a\n1\nAAAA\n", /the base64 of 32 bytes/u],
  ] as const) {
    const reading = readCheckpoint(text);
    assert.match(reading.kind === "invalid" ? reading.problem : "ok", expected);
  }
});

test("writeCheckpoint() throws rather than write what is read as something else", () => {
  const root = sha256("x");
  for (const wrong of [
    { origin: "", size: 1, root, extensions: [] },
    { origin: "a\nb", size: 1, root, extensions: [] },
    { origin: "a", size: -1, root, extensions: [] },
    { origin: "a", size: 0.5, root, extensions: [] },
    { origin: "a", size: 1, root, extensions: [""] },
    { origin: "a", size: 1, root, extensions: ["b\nc"] },
  ]) {
    assert.throws(() => writeCheckpoint(wrong), RangeError);
  }
});

test("treeOrigin() follows from the first record and can name a key", () => {
  const origin = treeOrigin(sha256("x"));
  assert.equal(origin, "boxmaker.local/audit/2d711642b726b04401627ca9fbac32f5");
  assert.doesNotThrow(() => verifierKey(origin, rawPublicKey(KEY)));
});

test("a tlog-proof shows that its record is in the tree that its checkpoint signs, and no other record", () => {
  const lines = Array.from({ length: 11 }, (_, index) => Buffer.from(`{"seq":${index + 1}}`));
  const leaves = lines.map((line) => hashLeaf(line));
  const tree = new CompactTree();
  for (const leaf of leaves) tree.push(leaf);
  const text = writeCheckpoint({ origin: "log", size: tree.size, root: tree.root(), extensions: [] });
  const note = { text, signatures: [signNote(text, "log", KEY)] };
  for (const [index, leaf] of leaves.entries()) {
    const hasher = new SpanHasher(inclusionSpans(index, tree.size));
    for (const each of leaves) hasher.push(each);
    const reading = readTlogProof(Buffer.from(writeTlogProof({ extra: null, index, hashes: hasher.hashes(), note })));
    if (reading.kind === "invalid") assert.fail(reading.problem);
    const { proof } = reading;
    assert.equal(openNote(proof.note, [verifierKey("log", rawPublicKey(KEY))]).kind, "signed");
    const checkpoint = readCheckpoint(proof.note.text);
    if (checkpoint.kind === "invalid") assert.fail(checkpoint.problem);
    const { size, root } = checkpoint.checkpoint;
    assert.ok(isIncluded({ index: proof.index, size, leaf, root }, proof.hashes));
    assert.equal(isIncluded({ index: proof.index, size, leaf: hashLeaf(Buffer.from("{}")), root }, proof.hashes), false);
  }
});

test("a tlog-proof has the form of the specification, with and without extra data", () => {
  const hashes = [sha256("a"), sha256("b")];
  const text = "log\n3\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
  const note = { text, signatures: [signNote(text, "log", KEY)] };
  const file = writeTlogProof({ extra: null, index: 0, hashes, note });
  assert.deepEqual(file.split("\n").slice(0, 6), [
    "c2sp.org/tlog-proof@v1",
    "index 0",
    "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=",
    "PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=",
    "",
    "log",
  ]);
  const extra = file.replace("index 0", "extra YWdl\nindex 0");
  assert.deepEqual(readTlogProof(Buffer.from(extra)), { kind: "ok", proof: { extra: "YWdl", index: 0, hashes, note } });
  const edit = (from: string, to: string): string => file.replace(from, to);
  for (const [wrong, expected] of [
    [edit("@v1", "@v2"), /expected c2sp\.org\/tlog-proof@v1/u],
    [edit("index 0", "index 00"), /expected index and a number, found "index 00"/u],
    [edit("index 0\n", ""), /expected index/u],
    [edit("index 0", "extra %\nindex 0"), /expected base64 after extra/u],
    [edit("ypeB", "ype"), /the base64 of 32 bytes/u],
    [edit("\n\n", "\n"), /the base64 of 32 bytes|index/u],
    [file.slice(0, file.indexOf("\n\n")), /an empty line before the checkpoint/u],
    [file.slice(0, -5), /newline/u],
  ] as const) {
    const reading = readTlogProof(Buffer.from(wrong));
    assert.match(reading.kind === "invalid" ? reading.problem : "ok", expected);
  }
  assert.equal(readTlogProof(Buffer.alloc(300_000, 0x61)).kind, "invalid");
  fc.assert(fc.property(fc.uint8Array(), (bytes) => ["ok", "invalid"].includes(readTlogProof(bytes).kind)));
});
