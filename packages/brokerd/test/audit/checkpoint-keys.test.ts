import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openNote } from "@boxmaker/proto/transparency";
import { TempDirectory } from "./audit-fixture.ts";
import { checkpointIn, keysOf, listedKeys, refusedSigned, runSigned } from "./checkpoint-fixture.ts";

const NOTE = "2026-11-29.1.note";

test("a new key beside the old one signs with both, and alone once the old one is gone", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  const [before] = listedKeys(temp);
  renameSync(join(keysOf(temp), "checkpoint.key"), join(keysOf(temp), "checkpoint-old.key"));
  await runSigned(temp, 1);
  assert.deepEqual(readdirSync(keysOf(temp)).sort(), ["checkpoint-old.key", "checkpoint.key"]);
  const [old, current] = listedKeys(temp);
  assert.deepEqual(old, before);
  assert.ok(old !== undefined && current !== undefined);
  const { note } = checkpointIn(temp, NOTE);
  for (const key of [old, current]) assert.equal(openNote(note, [key]).kind, "signed");
  rmSync(join(keysOf(temp), "checkpoint-old.key"));
  await runSigned(temp, 1);
  assert.equal(openNote(checkpointIn(temp, NOTE).note, [current]).kind, "signed");
  assert.equal(openNote(checkpointIn(temp, NOTE).note, [old]).kind, "refused");
});

test("a lost key is refused while there are checkpoints that it signed", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  rmSync(join(keysOf(temp), "checkpoint.key"));
  assert.match(await refusedSigned(temp), /isn't signed by this box: .*#checkpoint-signature$/u);
  assert.deepEqual(readdirSync(keysOf(temp)), []);
  renameSync(temp.file("checkpoints"), join(temp.path, "kept"));
  assert.deepEqual(await runSigned(temp, 1), []);
});

const KEY_FAULTS: readonly (readonly [name: string, spoil: (key: string, temp: TempDirectory) => void, problem: RegExp])[] = [
  ["that others can read", (key) => chmodSync(key, 0o640), /can be used by other users, expected mode 0600/u],
  [
    "that is a link",
    (key) => {
      renameSync(key, `${key}.real`);
      symlinkSync(`${key}.real`, key);
    },
    /is a link, a folder or a device/u,
  ],
  [
    "that is a folder",
    (key) => {
      rmSync(key);
      mkdirSync(key);
    },
    /is a link, a folder or a device/u,
  ],
  ["with a second name", (key) => linkSync(key, `${key}.too`), /has another name too/u],
  ["that is empty", (key) => writeFileSync(key, ""), /is no private key in PEM/u],
  ["that is too long", (key) => writeFileSync(key, "x".repeat(5000)), /is no file of at most 4096 bytes/u],
  [
    "of another kind",
    (key) => writeFileSync(key, generateKeyPairSync("x25519").privateKey.export({ format: "pem", type: "pkcs8" })),
    /is no Ed25519 key/u,
  ],
  [
    "in a folder that others can write to",
    (_key, temp) => chmodSync(keysOf(temp), 0o777),
    /other users can write to the directory/u,
  ],
];

for (const [name, spoil, problem] of KEY_FAULTS) {
  test(`a start refuses a key ${name}`, async () => {
    using temp = new TempDirectory();
    await runSigned(temp, 2);
    spoil(join(keysOf(temp), "checkpoint.key"), temp);
    const refused = await refusedSigned(temp);
    assert.match(refused, problem);
    assert.match(refused, /^cannot use the keys of checkpoints in "[^"]+": .*; see docs\/runbook\.md#checkpoint-key$/u);
  });
}

test("half a key that an unfinished first start left is made anew", async () => {
  using temp = new TempDirectory();
  mkdirSync(keysOf(temp), { mode: 0o700 });
  writeFileSync(join(keysOf(temp), "checkpoint.key.new"), "-----BEGIN PRIV", { mode: 0o600 });
  await runSigned(temp, 2);
  assert.deepEqual(readdirSync(keysOf(temp)), ["checkpoint.key"]);
});
