import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import {
  openNote,
  rawPublicKey,
  readSignatureLine,
  readSignedNote,
  readVerifierKey,
  type SignedNote,
  signNote,
  type VerifierKey,
  verifierKey,
  writeSignedNote,
  writeVerifierKey,
} from "@boxmaker/proto/transparency";
import fc from "fast-check";

/** The example of the C2SP specification. */
const SPEC_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const SPEC_NOTE =
  "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
/** The example of Go's implementation, which wrote such notes first. */
const GO_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const GO_NOTE =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

function keyOf(text: string): VerifierKey {
  const reading = readVerifierKey(text);
  assert.equal(reading.kind, "ok");
  return reading.kind === "ok" ? reading.key : assert.fail();
}

function noteOf(text: string): SignedNote {
  const reading = readSignedNote(Buffer.from(text));
  return reading.kind === "ok" ? reading.note : assert.fail(reading.problem);
}

/** An Ed25519 key from a seed, so that a failure repeats. */
function privateKey(seed: number): KeyObject {
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  return createPrivateKey({ key: Buffer.concat([prefix, Buffer.alloc(32, seed)]), format: "der", type: "pkcs8" });
}

function cosign(text: string, name: string, key: KeyObject, time: bigint): SignedNote["signatures"][number] {
  const { id } = verifierKey(name, rawPublicKey(key), "cosignature");
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(time);
  const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), key);
  return { name, keyId: id, base64: Buffer.concat([Buffer.from(id, "hex"), stamp, signature]).toString("base64") };
}

test("openNote() verifies the notes of the specification and of Go's implementation, and writes them back byte for byte", () => {
  for (const [key, text] of [
    [SPEC_KEY, SPEC_NOTE],
    [GO_KEY, GO_NOTE],
  ] as const) {
    const note = noteOf(text);
    const verdict = openNote(note, [keyOf(key)]);
    assert.equal(verdict.kind, "signed");
    assert.equal(writeSignedNote(note), text);
    assert.equal(writeVerifierKey(keyOf(key)), key);
  }
});

test("openNote() refuses the note after a change to any of its bytes", () => {
  const bytes = Buffer.from(SPEC_NOTE);
  for (const index of bytes.keys()) {
    for (const bit of [0x01, 0x40]) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ bit;
      const reading = readSignedNote(changed);
      if (reading.kind === "invalid") continue;
      assert.equal(openNote(reading.note, [keyOf(SPEC_KEY)]).kind, "refused", `byte ${index}`);
    }
  }
});

test("a wrong key never verifies, also one of the same name", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      assert.equal(openNote(noteOf(SPEC_NOTE), [verifierKey("example.com/foo", bytes)]).kind, "refused");
    }),
  );
  const other = { ...verifierKey("example.com/foo", rawPublicKey(privateKey(9))), id: keyOf(SPEC_KEY).id };
  assert.deepEqual(openNote(noteOf(SPEC_NOTE), [other]), {
    kind: "refused",
    problem: 'the signature of "example.com/foo" doesn\'t fit the text',
  });
  assert.deepEqual(openNote(noteOf(SPEC_NOTE), [keyOf(GO_KEY)]), {
    kind: "refused",
    problem: "expected a signature of PeterNeumann+c74f20a3, found example.com/foo+530d903a",
  });
});

test("openNote() ignores and lists signatures of unknown keys, and one bad signature of a known key spoils the note", () => {
  const text = "log\n7\n";
  const ours = signNote(text, "log", privateKey(1));
  const foreign = signNote(text, "other", privateKey(2));
  const lie = { ...signNote("log\n8\n", "log", privateKey(1)) };
  const key = verifierKey("log", rawPublicKey(privateKey(1)));
  assert.deepEqual(openNote({ text, signatures: [foreign, ours, ours] }, [key]), {
    kind: "signed",
    by: [{ key, time: null }],
    unknown: [foreign],
  });
  assert.equal(openNote({ text, signatures: [ours, lie] }, [key]).kind, "refused");
  assert.equal(openNote({ text, signatures: [foreign] }, [key]).kind, "refused");
  assert.equal(openNote({ text, signatures: [ours] }, []).kind, "refused");
});

test("a witness's cosignature verifies with its time, is kept when unknown, and refused over another time or text", () => {
  const text = "log\n7\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";
  const ours = signNote(text, "log", privateKey(1));
  const witness = privateKey(3);
  const signature = cosign(text, "witness.example/w", witness, 1_679_315_147n);
  const log = verifierKey("log", rawPublicKey(privateKey(1)));
  const key = verifierKey("witness.example/w", rawPublicKey(witness), "cosignature");
  const note = noteOf(writeSignedNote({ text, signatures: [ours, signature] }));
  assert.deepEqual(openNote(note, [log, key]), {
    kind: "signed",
    by: [
      { key: log, time: null },
      { key, time: 1_679_315_147 },
    ],
    unknown: [],
  });
  assert.deepEqual(openNote(note, [log]), { kind: "signed", by: [{ key: log, time: null }], unknown: [signature] });
  const bytes = Buffer.from(signature.base64, "base64");
  bytes[11] = (bytes[11] ?? 0) ^ 1;
  const later = { ...signature, base64: bytes.toString("base64") };
  assert.equal(openNote({ text, signatures: [ours, later] }, [log, key]).kind, "refused");
  const farAway = cosign(text, "witness.example/w", witness, 2n ** 63n - 1n);
  assert.equal(openNote({ text, signatures: [farAway] }, [key]).kind, "refused");
  assert.equal(readVerifierKey(writeVerifierKey(key)).kind, "ok");
});

test("readSignedNote() refuses what is no note, and says what it expected", () => {
  const line = SPEC_NOTE.split("\n")[2] ?? "";
  const problems: readonly (readonly [string | Buffer, RegExp])[] = [
    ["", /an empty line/u],
    ["text\n", /an empty line/u],
    ["text\n\n", /each end in a newline/u],
    [`text\n\n${line}`, /each end in a newline/u],
    [`text\n\n${line}\nmore\n`, /a signature line, found "more"/u],
    [`text\r\n\n${line}\n`, /control characters/u],
    [`te\txt\n\n${line}\n`, /control characters/u],
    [Buffer.concat([Buffer.of(0xff), Buffer.from(SPEC_NOTE)]), /UTF-8/u],
    [`text\n\n${`${line}\n`.repeat(65)}`, /at most 64 signatures/u],
    [`${"x".repeat(200_000)}\n\n${line}\n`, /at most 131072 bytes/u],
    [`text\n\n- example.com/foo ${line.split(" ")[2] ?? ""}\n`, /a signature line/u],
    ["text\n\n— example.com/foo\n", /a signature line/u],
    ["text\n\n— a+b Uw2QOkn8\n", /a signature line/u],
    ["text\n\n— a\u{a0}b Uw2QOkn8\n", /a signature line/u],
    ["text\n\n—  Uw2QOkn8\n", /a signature line/u],
    ["text\n\n— a Uw2QOg==\n", /a signature line/u],
    ["text\n\n— a Uw2QOkn8 \n", /a signature line/u],
    ["text\n\n— a Uw2QOkn8=\n", /a signature line/u],
    ["text\n\n— a Uw2QO_n8\n", /a signature line/u],
  ];
  for (const [input, expected] of problems) {
    const reading = readSignedNote(Buffer.from(input));
    assert.match(reading.kind === "invalid" ? reading.problem : "ok", expected);
  }
});

test("readSignedNote() accepts 16 signatures and a text with empty lines in it", () => {
  const text = "one\n\n— a Uw2QOkn8\n\ntwo\n";
  const signatures = Array.from({ length: 16 }, (_, index) => signNote(text, `k${index}`, privateKey(index)));
  assert.deepEqual(noteOf(writeSignedNote({ text, signatures })), { text, signatures });
});

test("writeSignedNote() throws rather than write what is read as something else", () => {
  const signature = readSignatureLine("— a Uw2QOkn8");
  assert.ok(signature !== undefined);
  for (const note of [
    { text: "no newline", signatures: [signature] },
    { text: "a\n", signatures: [] },
    { text: "a\u{1}\n", signatures: [signature] },
    { text: "a\n", signatures: [{ ...signature, name: "b c" }] },
  ]) {
    assert.throws(() => writeSignedNote(note), RangeError);
  }
});

test("readVerifierKey() refuses a key with a wrong id, type, length or spelling", () => {
  const [name = "", id = "", base64 = ""] = SPEC_KEY.split("+");
  const raw = Buffer.from(base64, "base64");
  const problems: readonly (readonly [string, RegExp])[] = [
    ["", /<name>/u],
    [`${name}+${id}`, /<name>/u],
    [`+${id}+${base64}`, /<name>/u],
    [`${name} x+${id}+${base64}`, /<name>/u],
    [`${name}+${id}+${base64}=`, /<name>/u],
    [`${name}+${id.toUpperCase()}+${base64}`, /expected the id 530d903a for this name and key, found "530D903A"/u],
    [`${name}x+${id}+${base64}`, /expected the id/u],
    [`${name}+${id}+`, /found type none/u],
    [`${name}+${id}+${Buffer.concat([Buffer.of(6), raw.subarray(1)]).toString("base64")}`, /found type 6/u],
    [`${name}+${id}+${raw.subarray(0, 32).toString("base64")}`, /32 bytes of key, found 31/u],
  ];
  for (const [input, expected] of problems) {
    const reading = readVerifierKey(input);
    assert.match(reading.kind === "invalid" ? reading.problem : "ok", expected);
  }
  assert.throws(() => verifierKey("a b", raw.subarray(1)), RangeError);
  assert.throws(() => verifierKey("a", raw), RangeError);
});

test("signNote() takes Ed25519 keys only", () => {
  assert.throws(() => signNote("a\n", "a", generateKeyPairSync("x25519").privateKey), RangeError);
});

test("notes are read back as they were written, and any bytes are read without an exception", () => {
  const name = fc
    .string({ minLength: 1, unit: "grapheme" })
    .filter((text) => !/[\p{White_Space}+\p{Cc}]/u.test(text) && text.isWellFormed());
  const text = fc
    .string({ unit: "grapheme" })
    .filter((line) => !/\p{Cc}/u.test(line) && line.isWellFormed())
    .map((line) => `${line}\n`);
  fc.assert(
    fc.property(text, name, fc.integer({ min: 0, max: 255 }), (body, called, seed) => {
      const note = { text: body, signatures: [signNote(body, called, privateKey(seed))] };
      const key = verifierKey(called, rawPublicKey(privateKey(seed)));
      assert.deepEqual(noteOf(writeSignedNote(note)), note);
      assert.equal(openNote(note, [keyOf(writeVerifierKey(key))]).kind, "signed");
    }),
  );
  fc.assert(fc.property(fc.uint8Array(), (bytes) => ["ok", "invalid"].includes(readSignedNote(bytes).kind)));
  fc.assert(fc.property(fc.string(), (word) => ["ok", "invalid"].includes(readVerifierKey(word).kind)));
});
