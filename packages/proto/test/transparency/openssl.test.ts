import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sha256 } from "@boxmaker/proto";
import { readSignedNote, signNote, writeCheckpoint, writeSignedNote } from "@boxmaker/proto/transparency";

const found = spawnSync("openssl", ["version"], { encoding: "utf8" });
const skip = found.status === 0 ? false : "openssl isn't installed here";

test("openssl verifies the signature of a checkpoint, and refuses it over another text", { skip }, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "boxmaker-openssl-"));
  const { privateKey } = generateKeyPairSync("ed25519");
  const text = writeCheckpoint({ origin: "log", size: 7, root: sha256("x"), extensions: [] });
  const file = writeSignedNote({ text, signatures: [signNote(text, "log", privateKey)] });
  const reading = readSignedNote(Buffer.from(file));
  if (reading.kind === "invalid") assert.fail(reading.problem);
  const base64 = reading.note.signatures[0]?.base64 ?? "";
  const place = (name: string, bytes: string | Uint8Array): string => {
    const path = join(folder.path, name);
    writeFileSync(path, bytes);
    return path;
  };
  const key = place("key.pem", createPublicKey(privateKey).export({ format: "pem", type: "spki" }));
  const signature = place("signature", Buffer.from(base64, "base64").subarray(4));
  const verify = (signed: string): number | null => {
    const words = ["pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", signed, "-sigfile", signature];
    return spawnSync("openssl", words, { encoding: "utf8" }).status;
  };
  assert.equal(verify(place("text", reading.note.text)), 0);
  assert.notEqual(verify(place("other", text.replace("7", "8"))), 0);
});
