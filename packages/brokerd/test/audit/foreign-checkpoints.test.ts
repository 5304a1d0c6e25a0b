/** What others wrote to the folder of checkpoints: witnesses, who may, and whoever wants to hide something. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { readSignatureLine, writeSignedNote } from "@boxmaker/proto/transparency";
import { TempDirectory } from "./audit-fixture.ts";
import { checkpointIn, refusedSigned, runSigned } from "./checkpoint-fixture.ts";

const TODAY = "2026-11-29";
const NOTE = `${TODAY}.1.note`;

test("signatures of witnesses under a checkpoint are kept while its text stays the same", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  const witness = readSignatureLine(
    "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==",
  );
  assert.ok(witness !== undefined);
  const { note } = checkpointIn(temp, NOTE);
  writeFileSync(temp.file(`checkpoints/${NOTE}`), writeSignedNote({ ...note, signatures: [...note.signatures, witness] }));
  assert.deepEqual(await runSigned(temp, 0), []);
  assert.deepEqual(checkpointIn(temp, NOTE).note.signatures, [...note.signatures, witness]);
  await runSigned(temp, 1);
  assert.equal(checkpointIn(temp, NOTE).note.signatures.length, 1);
});

test("a signature under brokerd's own name that isn't its is dropped", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  const { note } = checkpointIn(temp, NOTE);
  const [own] = note.signatures;
  assert.ok(own !== undefined);
  const bytes = Buffer.from(own.base64, "base64").fill(0, 4);
  const forged = { ...own, base64: bytes.toString("base64") };
  writeFileSync(temp.file(`checkpoints/${NOTE}`), writeSignedNote({ ...note, signatures: [own, forged] }));
  await runSigned(temp, 0);
  assert.deepEqual(checkpointIn(temp, NOTE).note.signatures, [own]);
});

test("an older checkpoint under the name of a later tree hides no cut", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 4);
  const older = temp.text(`checkpoints/${NOTE}`);
  await runSigned(temp, 4);
  writeFileSync(temp.file(`checkpoints/${TODAY}.999999.note`), older);
  const kept = temp.text(`${TODAY}.jsonl`).split("\n").slice(0, 5);
  writeFileSync(temp.file(`${TODAY}.jsonl`), `${kept.join("\n")}\n`);
  assert.match(await refusedSigned(temp), /#checkpoint-damaged$/u);
  // Nor where the newest one is gone, and that alone is left to say which record the tree begins with.
  rmSync(temp.file("checkpoints/newest.json"));
  assert.match(await refusedSigned(temp), /found a tree that begins with record 1; see docs\/runbook\.md#audit-cut$/u);
});
