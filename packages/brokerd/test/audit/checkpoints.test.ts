import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readRecordLine, sha256 } from "@boxmaker/proto";
import { CompactTree, hashLeaf, openNote, signNote, treeOrigin, writeSignedNote } from "@boxmaker/proto/transparency";
import { FakeClock } from "../fakes/fake-clock.ts";
import { NO_BLOBS, openLog, refusedLog, sessionEvent, TempDirectory } from "./audit-fixture.ts";
import { checkpointIn, checkpointNames, keysOf, listedKeys, openSigned, refusedSigned, runSigned } from "./checkpoint-fixture.ts";

const TODAY = "2026-11-29";
const LOG = `${TODAY}.jsonl`;
const NOTE = `${TODAY}.1.note`;

function lines(temp: TempDirectory): readonly string[] {
  return temp.text(LOG).split("\n").slice(0, -1);
}

function writeLines(temp: TempDirectory, kept: readonly string[]): void {
  writeFileSync(temp.file(LOG), kept.map((line) => `${line}\n`).join(""));
}

/** Every file under the home, with its content. */
function snapshot(temp: TempDirectory): readonly string[] {
  return readdirSync(temp.path, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => (lstatSync(join(temp.path, name)).isFile() ? `${name}: ${sha256(readFileSync(join(temp.path, name)))}` : name));
}

test("a log's life ends with a checkpoint over all of its lines, signed by the key that is listed", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 5);
  assert.deepEqual(checkpointNames(temp), [NOTE, "keys", "newest.json"]);
  const tree = new CompactTree();
  for (const line of lines(temp)) tree.push(hashLeaf(Buffer.from(line)));
  const { note, checkpoint } = checkpointIn(temp, NOTE);
  const origin = treeOrigin(hashLeaf(Buffer.from(lines(temp)[0] ?? "")));
  assert.deepEqual(checkpoint, { origin, size: 5, root: tree.root(), extensions: [] });
  assert.equal(openNote(note, listedKeys(temp)).kind, "signed");
  assert.equal(listedKeys(temp)[0]?.name, origin);
});

test("keys and checkpoints are the owner's alone, and the key lies outside the log's directory", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 1);
  assert.deepEqual(readdirSync(keysOf(temp)), ["checkpoint.key"]);
  for (const [path, mode] of [
    [keysOf(temp), 0o700],
    [join(keysOf(temp), "checkpoint.key"), 0o600],
    [temp.file("checkpoints"), 0o700],
    [temp.file("checkpoints/newest.json"), 0o600],
    [temp.file(`checkpoints/${NOTE}`), 0o600],
    [temp.file("checkpoints/keys"), 0o600],
  ] as const) {
    assert.equal(lstatSync(path).mode & 0o777, mode, path);
  }
});

test("an empty log has no checkpoint, and no key is made for it", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 0);
  assert.equal(existsSync(temp.file("checkpoints")), false);
  assert.equal(existsSync(keysOf(temp)), false);
});

test("a log from before there were checkpoints is signed as it is found", async () => {
  using temp = new TempDirectory();
  {
    await using plain = await openLog(temp.audit);
    await plain.log.append(sessionEvent("old"), NO_BLOBS).durable;
  }
  await runSigned(temp, 1);
  assert.equal(checkpointIn(temp, NOTE).checkpoint.size, 2);
});

test("a checkpoint is written every N records, after a minute with new ones, and at midnight without any", async () => {
  using temp = new TempDirectory();
  const clock = new FakeClock();
  await using signed = await openSigned(temp, { clock, every: 3 });
  await signed.append(2);
  assert.equal(existsSync(temp.file("checkpoints")), false);
  await signed.append(1);
  await signed.checkpoints.write();
  assert.equal(checkpointIn(temp, NOTE).checkpoint.size, 3);
  await signed.append(1);
  clock.advance(60_000);
  await signed.checkpoints.write();
  assert.equal(checkpointIn(temp, NOTE).checkpoint.size, 4);
  // To midnight, and a day without a record.
  for (const day of ["2026-11-30", "2026-12-01"]) {
    while (clock.sleepers === 0) await new Promise(setImmediate);
    clock.set(Date.parse(`${day}T00:00:00.000Z`));
    clock.advance(0);
    clock.advance(60_000);
    await signed.checkpoints.write();
    assert.equal(checkpointIn(temp, `${day}.1.note`).checkpoint.size, 4);
  }
});

test("a log that has grown since is opened, from the newest checkpoint on or, without what that was kept with, as a whole", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 4);
  {
    // Records after the last checkpoint, as a killed brokerd leaves them.
    await using plain = await openLog(temp.audit, { now: () => Date.UTC(2026, 10, 30), monotonic: () => 0 });
    await plain.log.append(sessionEvent("later"), NO_BLOBS).durable;
  }
  const clock = new FakeClock();
  clock.set(Date.UTC(2026, 10, 30, 1));
  await runSigned(temp, 2, { clock });
  assert.equal(checkpointIn(temp, "2026-11-30.1.note").checkpoint.size, 7);
  rmSync(temp.file("checkpoints/newest.json"));
  await runSigned(temp, 1, { clock });
  assert.equal(checkpointIn(temp, "2026-11-30.1.note").checkpoint.size, 8);
});

test("a start that goes on from a checkpoint comes to the same root as one that reads everything", async () => {
  for (const count of [1, 2, 3, 4, 7, 8, 9]) {
    using temp = new TempDirectory();
    for (let life = 0; life < 3; life++) await runSigned(temp, count);
    const tree = new CompactTree();
    for (const line of lines(temp)) tree.push(hashLeaf(Buffer.from(line)));
    assert.equal(checkpointIn(temp, NOTE).checkpoint.root, tree.root());
  }
});

const TAMPERINGS: readonly (readonly [name: string, tamper: (temp: TempDirectory) => Promise<void> | void, found: RegExp])[] = [
  [
    "cut by three records",
    (temp) => writeLines(temp, lines(temp).slice(0, -3)),
    /expected the 8 records of "newest\.json", found 5 records, so its tail was cut off/u,
  ],
  ["emptied", (temp) => writeLines(temp, []), /found no record/u],
  ["deleted", (temp) => rmSync(temp.file(LOG)), /found no record/u],
  [
    "cut and written on by somebody else",
    async (temp) => {
      writeLines(temp, lines(temp).slice(0, -3));
      await using plain = await openLog(temp.audit, new FakeClock());
      for (const name of ["a", "b", "c", "d", "e"]) await plain.log.append(sessionEvent(name), NO_BLOBS).durable;
    },
    /found other records, so it was rewritten/u,
  ],
  [
    "rewritten as a whole",
    async (temp) => {
      rmSync(temp.file(LOG));
      await using plain = await openLog(temp.audit, new FakeClock());
      for (const index of Array(9).keys()) await plain.log.append(sessionEvent(`n${index}`), NO_BLOBS).durable;
    },
    /found another first record, so it is another log or was rewritten as a whole/u,
  ],
  [
    "cut inside its last record",
    (temp) => writeFileSync(temp.file(LOG), temp.text(LOG).slice(0, -20)),
    /found 7 records, so its tail was cut off/u,
  ],
];

for (const [name, tamper, found] of TAMPERINGS) {
  test(`a start refuses a log that was ${name}, changes nothing, and goes on when the owner accepts it`, async () => {
    using temp = new TempDirectory();
    await runSigned(temp, 8);
    const old = checkpointIn(temp, NOTE).checkpoint;
    await tamper(temp);
    const before = snapshot(temp);
    const problem = await refusedSigned(temp);
    assert.match(problem, found);
    assert.match(problem, /^the audit log in "[^"]+" isn't the one that was signed: .*; see docs\/runbook\.md#audit-cut$/u);
    assert.deepEqual(snapshot(temp), before);
    const notices = await runSigned(temp, 2, { acceptBreak: true });
    assert.match(notices.join("\n"), /accepted and recorded in seq \d+: .*#audit-cut/u);
    const kept = lines(temp);
    const index = kept.findIndex((line) => line.includes('"accepted_loss"'));
    const reading = readRecordLine(Buffer.from(kept[index] ?? ""));
    assert.ok(reading.kind === "ok" && reading.value.event.kind === "accepted_loss");
    const { seq, event } = reading.value;
    assert.deepEqual([event.origin, event.size, event.root], [old.origin, old.size, old.root]);
    const { checkpoint } = checkpointIn(temp, `${TODAY}.${seq}.note`);
    assert.equal(checkpoint.size, 3);
    assert.equal(checkpoint.origin, treeOrigin(hashLeaf(Buffer.from(kept[index] ?? ""))));
    // The evidence stays, and from here on all is as ever.
    if (seq !== 1) assert.equal(checkpointIn(temp, NOTE).checkpoint.root, old.root);
    assert.deepEqual(await runSigned(temp, 1), []);
  });
}

test("with nothing to accept a start is refused and nothing is written", async () => {
  using temp = new TempDirectory();
  {
    await using plain = await openLog(temp.audit);
    await plain.log.append(sessionEvent("old"), NO_BLOBS).durable;
  }
  const before = snapshot(temp);
  assert.match(await refusedSigned(temp, { acceptBreak: true }), /isn't broken/u);
  assert.deepEqual(snapshot(temp), before);
});

test("a broken chain that the owner accepts begins a new tree, whose checkpoint stands beside the old one", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 4);
  writeLines(
    temp,
    lines(temp).map((line, index) => (index === 1 ? line.replace('"terminal"', '"gateway"') : line)),
  );
  assert.match(await refusedSigned(temp), /is broken/u);
  await runSigned(temp, 1, { acceptBreak: true });
  assert.deepEqual(checkpointNames(temp), [NOTE, `${TODAY}.5.note`, "keys", "newest.json"]);
  assert.equal(checkpointIn(temp, `${TODAY}.5.note`).checkpoint.size, 2);
  assert.deepEqual(await runSigned(temp, 1), []);
  assert.equal(checkpointIn(temp, `${TODAY}.5.note`).checkpoint.size, 3);
});

test("an accepted break that no checkpoint follows is refused: whoever cut the log could have written it", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 4);
  writeLines(temp, lines(temp).with(1, "{}"));
  {
    const ignore = (): void => {};
    const { openAuditLog } = await import("../../src/audit/audit-log.ts");
    const opening = await openAuditLog({
      directory: temp.audit,
      clock: new FakeClock(),
      acceptBreak: true,
      onRecord: ignore,
      onRestart: ignore,
      warn: ignore,
    });
    assert.equal(opening.kind, "open");
    if (opening.kind === "open") await opening.log[Symbol.asyncDispose]();
  }
  assert.match(await refusedSigned(temp), /found a break accepted in seq 5, behind which nothing is signed/u);
});

const DAMAGES: readonly (readonly [name: string, damage: (temp: TempDirectory) => void, problem: RegExp])[] = [
  [
    "is cut off",
    (temp) => writeFileSync(temp.file(`checkpoints/${NOTE}`), temp.text(`checkpoints/${NOTE}`).slice(0, -10)),
    /2026-11-29\.1\.note" is no checkpoint: .*#checkpoint-damaged$/u,
  ],
  ["is empty", (temp) => writeFileSync(temp.file(`checkpoints/${NOTE}`), ""), /is no checkpoint: .*#checkpoint-damaged$/u],
  [
    "is cut off where it is kept",
    (temp) => writeFileSync(temp.file("checkpoints/newest.json"), temp.text("checkpoints/newest.json").slice(0, -9)),
    /newest\.json" is no checkpoint: .*#checkpoint-damaged$/u,
  ],
  [
    "is edited",
    (temp) => {
      rmSync(temp.file("checkpoints/newest.json"));
      writeFileSync(temp.file(`checkpoints/${NOTE}`), temp.text(`checkpoints/${NOTE}`).replace("\n4\n", "\n3\n"));
    },
    /2026-11-29\.1\.note" isn't signed by this box: the signature of "boxmaker\.local[^"]+" doesn't fit the text; .*#checkpoint-signature$/u,
  ],
  [
    "is edited to be of another tree",
    (temp) => {
      rmSync(temp.file("checkpoints/newest.json"));
      writeFileSync(temp.file(`checkpoints/${NOTE}`), temp.text(`checkpoints/${NOTE}`).replace("boxmaker.local", "box maker"));
    },
    /isn't signed by this box: "box maker\/audit\/[0-9a-f]{32}" is no name of a tree; .*#checkpoint-signature$/u,
  ],
  [
    "lies under the name of a later tree, too",
    (temp) => renameSync(temp.file(`checkpoints/${NOTE}`), temp.file(`checkpoints/${TODAY}.999999.note`)),
    /\.999999\.note" is no checkpoint: of a tree that begins with record 999999 by its name, and 1 by newest\.json; .*#checkpoint-damaged$/u,
  ],
  [
    "is signed by another key",
    (temp) => {
      const { note, checkpoint } = checkpointIn(temp, NOTE);
      const foreign = signNote(note.text, checkpoint.origin, generateKeyPairSync("ed25519").privateKey);
      rmSync(temp.file("checkpoints/newest.json"));
      writeFileSync(temp.file(`checkpoints/${NOTE}`), writeSignedNote({ ...note, signatures: [foreign] }));
    },
    /isn't signed by this box: expected a signature of .*#checkpoint-signature$/u,
  ],
  [
    "is gone, with all others",
    (temp) => rmSync(temp.file("checkpoints"), { recursive: true }),
    /has no checkpoint, but some were signed; see docs\/runbook\.md#checkpoint-missing$/u,
  ],
];

for (const [name, damage, problem] of DAMAGES) {
  test(`a start refuses a checkpoint that ${name}, also where the owner accepts a break`, async () => {
    using temp = new TempDirectory();
    await runSigned(temp, 4);
    damage(temp);
    const before = snapshot(temp);
    assert.match(await refusedSigned(temp), problem);
    assert.match(await refusedSigned(temp, { acceptBreak: true }), problem);
    assert.deepEqual(snapshot(temp), before);
  });
}

test("what a checkpoint is kept with isn't believed where it doesn't make the signed root: the whole log is read", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 5);
  const text = temp.text("checkpoints/newest.json");
  const edits: readonly ((text: string) => string)[] = [
    (json) => json.replace(/"offset":(\d+)/u, '"offset":1'),
    (json) => json.replace(/"bytes":(\d+)/u, '"bytes":9999999'),
    (json) => json.replace('"size":4', '"size":3'),
    (json) => json.replace('"first":1', '"first":2'),
    (json) => json.replace(/"hashes":\["./u, '"hashes":["f'),
    (json) => json.replace(/"file":"[^"]+"/u, '"file":"2026-11-28.jsonl"'),
  ];
  for (const edit of edits) {
    const edited = edit(text);
    assert.notEqual(edited, text);
    writeFileSync(temp.file("checkpoints/newest.json"), edited);
    rmSync(temp.file(`checkpoints/${NOTE}`));
    assert.deepEqual(await runSigned(temp, 0), []);
    assert.equal(checkpointIn(temp, NOTE).checkpoint.size, 5);
  }
});

test("a checkpoint dated in the future counts, and goes on being that day's", async () => {
  using temp = new TempDirectory();
  const clock = new FakeClock();
  clock.set(Date.UTC(2099, 0, 1));
  await runSigned(temp, 3, { clock });
  const now = new FakeClock();
  await runSigned(temp, 2, { clock: now });
  assert.deepEqual(checkpointNames(temp), ["2099-01-01.1.note", "keys", "newest.json"]);
  assert.equal(checkpointIn(temp, "2099-01-01.1.note").checkpoint.size, 5);
});

test("a checkpoint that can't be written is one warning, records go on, and the next one makes up for it", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 2);
  const folder = temp.file("checkpoints");
  {
    await using signed = await openSigned(temp);
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, "");
    await signed.append(2);
    await signed.checkpoints.write();
    await signed.append(1);
    await signed.checkpoints.write();
    assert.equal(signed.warnings.length, 1);
    assert.match(
      signed.warnings[0] ?? "",
      /^cannot write a checkpoint of the audit log: .*; records go on; see docs\/runbook\.md#checkpoint-unwritten$/u,
    );
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
    await signed.checkpoints.write();
    assert.equal(checkpointIn(temp, NOTE).checkpoint.size, 5);
  }
  assert.equal(await runSigned(temp, 0).then((said) => said.length), 0);
});

test("a log that is opened without checkpoints looks at none", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 3);
  writeLines(temp, lines(temp).slice(0, -1));
  await assert.rejects(refusedLog(temp.audit), /expected the log to be refused/u);
});
