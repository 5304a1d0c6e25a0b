/** What brokerd signs, bxctl shows, proves and holds the log to: with a checkpoint that was kept elsewhere, a cut or a rewrite shows. */
import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { NO_BLOBS, openLog, sessionEvent, TempDirectory } from "../../packages/brokerd/test/audit/audit-fixture.ts";
import { openSigned, refusedSigned, runSigned } from "../../packages/brokerd/test/audit/checkpoint-fixture.ts";
import { FakeClock } from "../../packages/brokerd/test/fakes/fake-clock.ts";
import type { AuditCommand } from "../../packages/bxctl/src/audit/audit-command.ts";
import { proveRecord } from "../../packages/bxctl/src/audit/prove-record.ts";
import { runVerify, type VerifyFlags } from "../../packages/bxctl/src/audit/run-verify.ts";
import { showCheckpoint, showKey } from "../../packages/bxctl/src/audit/show-checkpoint.ts";
import { memoryScreen } from "../../packages/bxctl/test/support/memory-stream.ts";
import { canonicalJson, readRecordLine, sha256 } from "../../packages/proto/src/index.ts";
import {
  hashLeaf,
  isIncluded,
  openNote,
  readCheckpoint,
  readTlogProof,
  readVerifierKey,
  type VerifierKey,
} from "../../packages/proto/src/transparency/index.ts";

const LOG = "2026-11-29.jsonl";
const NOTE = "2026-11-29.1.note";

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

async function run(temp: TempDirectory, command: (command: AuditCommand) => Promise<number>, json = false): Promise<Ran> {
  const [out, err] = [memoryScreen(), memoryScreen()];
  const status = await command({ directory: temp.audit, out: out.screen, err: err.screen, json });
  return { status, out: out.stream.text, err: err.stream.text };
}

function verify(temp: TempDirectory, flags: VerifyFlags = {}, json = false): Promise<Ran> {
  return run(temp, (command) => runVerify(command, flags), json);
}

/** A signed log of `count` records, and what its owner has kept elsewhere. */
async function keep(temp: TempDirectory, count: number): Promise<{ checkpoint: string; key: readonly string[]; note: string }> {
  await runSigned(temp, count);
  const note = (await run(temp, showCheckpoint)).out;
  const checkpoint = join(temp.path, "kept.note");
  writeFileSync(checkpoint, note);
  return { checkpoint, key: [(await run(temp, showKey)).out.trim()], note };
}

function lines(temp: TempDirectory): readonly string[] {
  return temp.text(LOG).split("\n").slice(0, -1);
}

function writeLines(temp: TempDirectory, kept: readonly string[]): void {
  writeFileSync(temp.file(LOG), kept.map((line) => `${line}\n`).join(""));
}

function keyOf(word: string | undefined): VerifierKey {
  const reading = readVerifierKey(word ?? "");
  return reading.kind === "ok" ? reading.key : assert.fail(reading.problem);
}

test("bxctl audit checkpoint and key print what brokerd signed and the key that signed it", async () => {
  using temp = new TempDirectory();
  const { key, note } = await keep(temp, 3);
  assert.match(
    note,
    /^boxmaker\.local\/audit\/[0-9a-f]{32}\n3\n[\w+/]{43}=\n\n— boxmaker\.local\/audit\/[0-9a-f]{32} [\w+/]+=*\n$/u,
  );
  assert.match(key[0] ?? "", /^boxmaker\.local\/audit\/[0-9a-f]{32}\+[0-9a-f]{8}\+[\w+/]{44}$/u);
  const json: unknown = JSON.parse((await run(temp, showCheckpoint, true)).out);
  const root = Buffer.from(note.split("\n")[2] ?? "", "base64").toString("hex");
  assert.deepEqual(json, { origin: note.split("\n")[0], size: 3, root, note });
  assert.deepEqual(JSON.parse((await run(temp, showKey, true)).out), { key: key[0], keys: key });
});

test("a log that has grown since holds the kept checkpoint, with and without its key", async () => {
  using temp = new TempDirectory();
  const { checkpoint, key } = await keep(temp, 5);
  await runSigned(temp, 4);
  const signed = await verify(temp, { checkpoint, key });
  assert.equal(signed.status, 0, signed.out);
  assert.match(signed.out, /^audit: ok, 9 records\n/u);
  assert.match(
    signed.out,
    /^checkpoint: 5 records of boxmaker\.local\/audit\/[0-9a-f]{32}, all there and unchanged, signed by boxmaker\.local/mu,
  );
  assert.match(signed.out, /^note: a checkpoint shows nothing of the records that came after it$/mu);
  const unsigned = await verify(temp, { checkpoint });
  assert.match(unsigned.out, /all there and unchanged, whose signature wasn't checked \(no --key\)$/mu);
  const newest = await verify(temp, { key });
  assert.match(newest.out, /^checkpoint: 9 records of /mu);
});

test("without a checkpoint verify says what it can't see, and looks at the one beside the log", async () => {
  using temp = new TempDirectory();
  {
    await using plain = await openLog(temp.audit, new FakeClock());
    await plain.log.append(sessionEvent("a"), NO_BLOBS).durable;
  }
  assert.match(
    (await verify(temp)).out,
    /^note: a hash chain alone can't show that its tail was cut off, nor that it was rewritten as a whole; keep/mu,
  );
  await runSigned(temp, 2);
  const { status, out } = await verify(temp);
  assert.equal(status, 0);
  assert.match(out, /^newest checkpoint: 3 records, all there$/mu);
  assert.match(out, /^note: a hash chain alone can't show .*; the checkpoint lies beside the log, so keep it somewhere else/mu);
});

const TAMPERINGS: readonly (readonly [name: string, tamper: (temp: TempDirectory) => Promise<void> | void, found: string])[] = [
  ["three records cut off", (temp) => writeLines(temp, lines(temp).slice(0, -3)), "5 records, so its tail was cut off"],
  [
    "three cut off and five written anew",
    async (temp) => {
      writeLines(temp, lines(temp).slice(0, -3));
      await using plain = await openLog(temp.audit, new FakeClock());
      for (const name of ["a", "b", "c", "d", "e"]) await plain.log.append(sessionEvent(name), NO_BLOBS).durable;
    },
    "other records, so it was rewritten",
  ],
  [
    "everything written anew",
    async (temp) => {
      rmSync(temp.file(LOG));
      await using plain = await openLog(temp.audit, new FakeClock());
      for (const index of Array(9).keys()) await plain.log.append(sessionEvent(`n${index}`), NO_BLOBS).durable;
    },
    "another first record, so it is another log or was rewritten as a whole",
  ],
  ["every record gone", (temp) => writeLines(temp, []), "no record"],
];

for (const [name, tamper, found] of TAMPERINGS) {
  test(`verify shows a log with ${name}: by the kept checkpoint, and by the one beside it while that is there`, async () => {
    using temp = new TempDirectory();
    const { checkpoint, key } = await keep(temp, 8);
    await tamper(temp);
    const kept = await verify(temp, { checkpoint, key });
    assert.equal(kept.status, 1);
    assert.equal(
      kept.out,
      `audit: the log isn't the one that was signed: expected the 8 records of the checkpoint, found ${found}; see docs/runbook.md#audit-cut\n`,
    );
    const beside = await verify(temp);
    assert.deepEqual([beside.status, beside.out], [1, kept.out.replace("of the checkpoint", "of the newest checkpoint beside it")]);
    // Whoever can cut the log can remove the checkpoints too: the chain by itself sees nothing, and says so.
    rmSync(temp.file("checkpoints"), { recursive: true });
    const alone = await verify(temp);
    assert.equal(alone.status, 0);
    assert.match(alone.out, /a hash chain alone can't show/u);
    assert.equal((await verify(temp, { checkpoint, key })).status, 1);
  });
}

const REFUSED: readonly (readonly [name: string, tamper: (temp: TempDirectory) => void, found: RegExp])[] = [
  [
    "a signed record that a recovery calls torn",
    (temp) => {
      const kept = lines(temp);
      const line = kept.at(-1) ?? "";
      const offset = Buffer.byteLength(temp.text(LOG)) - Buffer.byteLength(line) - 1;
      const reading = readRecordLine(Buffer.from(line));
      assert(reading.kind === "ok");
      const place = { file: LOG, offset, bytes: Buffer.byteLength(line), sha256: sha256(line) };
      writeLines(temp, [...kept, canonicalJson({ ...reading.value, event: { kind: "recovery", ...place } })]);
    },
    /found other records, so it was rewritten/u,
  ],
  [
    "a cut tail and no newest checkpoint but the day's",
    (temp) => {
      rmSync(temp.file("checkpoints/newest.json"));
      writeLines(temp, lines(temp).slice(0, -2));
    },
    /found 2 records, so its tail was cut off/u,
  ],
];

for (const [name, tamper, found] of REFUSED) {
  test(`start and verify refuse ${name} alike, though the chain is whole`, async () => {
    using temp = new TempDirectory();
    await runSigned(temp, 4);
    tamper(temp);
    assert.match(await refusedSigned(temp), found);
    const { status, out } = await verify(temp);
    assert.equal(status, 1);
    assert.match(out, found);
    assert.match(out, /#audit-cut\n$/u);
  });
}

test("a log that holds the kept checkpoint and not the newest one beside it is refused", async () => {
  using temp = new TempDirectory();
  const { checkpoint, key } = await keep(temp, 4);
  await runSigned(temp, 4);
  writeLines(temp, lines(temp).slice(0, 6));
  const { status, out } = await verify(temp, { checkpoint, key });
  assert.equal(status, 1);
  const held = "the records of the given checkpoint are all there";
  const cut = "expected the 8 records of the newest checkpoint beside it, found 6 records, so its tail was cut off";
  assert.ok(out.endsWith(`: ${cut}; ${held}; see docs/runbook.md#audit-cut\n`), out);
  writeFileSync(temp.file("checkpoints/newest.json"), "{}");
  const damaged = await verify(temp, { checkpoint, key });
  assert.equal(damaged.status, 1);
  assert.ok(damaged.out.endsWith(`; ${held}; see docs/runbook.md#checkpoint-damaged\n`), damaged.out);
});

test("an older checkpoint under the name of a later tree doesn't pass for the newest one", async () => {
  using temp = new TempDirectory();
  const { key, note } = await keep(temp, 4);
  await runSigned(temp, 4);
  writeFileSync(temp.file("checkpoints/2026-11-29.999.note"), note);
  writeLines(temp, lines(temp).slice(0, 6));
  for (const flags of [{}, { key }]) {
    const { status, out } = await verify(temp, flags);
    assert.equal(status, 1);
    assert.match(out, /\.999\.note" is no checkpoint: [^\n]+; see docs\/runbook\.md#checkpoint-damaged\n$/u);
  }
});

test("a checkpoint that another key signed, an edited one, and words that are none are refused", async () => {
  using temp = new TempDirectory();
  using other = new TempDirectory();
  const { checkpoint, key, note } = await keep(temp, 4);
  const foreign = await keep(other, 5);
  const mixed = await verify(temp, { checkpoint: foreign.checkpoint, key });
  assert.deepEqual(
    [mixed.status, /isn't signed by the given key: .*#checkpoint-not-signed$/mu.test(mixed.out)],
    [1, true],
    mixed.out,
  );
  writeFileSync(checkpoint, note.replace("\n4\n", "\n3\n"));
  const edited = await verify(temp, { checkpoint, key });
  assert.deepEqual(
    [edited.status, /doesn't fit the text; see docs\/runbook\.md#checkpoint-not-signed$/mu.test(edited.out)],
    [1, true],
  );
  writeFileSync(checkpoint, "nothing");
  assert.match((await verify(temp, { checkpoint, key })).out, /is no checkpoint: .*#checkpoint-not-signed$/mu);
  for (const flags of [{ checkpoint: join(temp.path, "missing") }, { key: ["a+b+c"] }, { checkpoint, key: [""] }]) {
    const { status, out, err } = await verify(temp, flags);
    assert.deepEqual([status, out], [2, ""]);
    assert.match(err, /^bxctl: /u);
  }
  using fresh = new TempDirectory();
  {
    await using plain = await openLog(fresh.audit);
    await plain.log.append(sessionEvent("a"), NO_BLOBS).durable;
  }
  assert.match((await verify(fresh, { key })).out, /^audit: no checkpoint in .*#checkpoints-absent\n$/u);
});

test("verify --json is one line, whatever it comes to", async () => {
  using temp = new TempDirectory();
  const { checkpoint, key } = await keep(temp, 3);
  const status = async (flags: VerifyFlags): Promise<unknown> => {
    const { out } = await verify(temp, flags, true);
    assert.equal(out.indexOf("\n"), out.length - 1);
    const value: unknown = JSON.parse(out);
    return typeof value === "object" && value !== null && "status" in value ? value.status : value;
  };
  assert.equal(await status({}), "ok");
  assert.equal(await status({ checkpoint, key }), "ok");
  writeLines(temp, lines(temp).slice(0, -1));
  assert.equal(await status({}), "differs");
  assert.equal(await status({ checkpoint, key }), "differs");
  writeLines(temp, ["{}", "{}"]);
  assert.equal(await status({ checkpoint }), "broken");
  writeFileSync(checkpoint, "");
  assert.equal(await status({ checkpoint }), "unsigned");
});

test("bxctl audit prove shows each record to somebody who has the public key and that record's line only", async () => {
  using temp = new TempDirectory();
  const { key } = await keep(temp, 7);
  for (const [index, line] of lines(temp).entries()) {
    const { status, out } = await run(temp, (command) => proveRecord(command, String(index + 1)));
    assert.equal(status, 0);
    const reading = readTlogProof(Buffer.from(out));
    if (reading.kind === "invalid") assert.fail(reading.problem);
    const { proof } = reading;
    assert.equal(openNote(proof.note, [keyOf(key[0])]).kind, "signed");
    const checkpoint = readCheckpoint(proof.note.text);
    if (checkpoint.kind === "invalid") assert.fail(checkpoint.problem);
    const { size, root } = checkpoint.checkpoint;
    assert.ok(isIncluded({ index: proof.index, size, leaf: hashLeaf(Buffer.from(line)), root }, proof.hashes));
    assert.equal(proof.index, index);
  }
  const json: unknown = JSON.parse((await run(temp, (command) => proveRecord(command, "2"), true)).out);
  assert.ok(typeof json === "object" && json !== null && "index" in json && json.index === 1);
});

test("a record is proved in its own tree, also behind an accepted loss", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 6);
  writeLines(temp, lines(temp).slice(0, -2));
  await runSigned(temp, 3, { acceptBreak: true });
  for (const [seq, index] of [
    [5, 0],
    [8, 3],
  ] as const) {
    const { out } = await run(temp, (command) => proveRecord(command, String(seq)));
    const reading = readTlogProof(Buffer.from(out));
    assert.ok(reading.kind === "ok" && reading.proof.index === index, out);
  }
  // The old tree isn't what was signed any more, so nothing in it can be proved.
  const old = await run(temp, (command) => proveRecord(command, "2"));
  assert.equal(old.status, 1);
  assert.match(old.err, /isn't the one that was signed: .*#audit-cut/u);
});

test("a checkpoint whose file has the name of another tree proves nothing", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 4);
  const folder = temp.file("checkpoints");
  renameSync(join(folder, NOTE), join(folder, NOTE.replace(".1.", ".3.")));
  const { status, out, err } = await run(temp, (command) => proveRecord(command, "4"));
  assert.deepEqual([status, out], [1, ""]);
  assert.match(err, /expected 4 records, found them from seq 1 on; see docs\/runbook\.md#audit-cut\n$/u);
});

test("a note that would steer a terminal isn't printed as it is", async () => {
  using temp = new TempDirectory();
  await runSigned(temp, 2);
  const path = temp.file(`checkpoints/${NOTE}`);
  const note = temp.text(`checkpoints/${NOTE}`);
  for (const name of ["witness\u009b2J", "witness\u202e"]) {
    writeFileSync(path, `${note}— ${name} ${Buffer.alloc(72).toString("base64")}\n`);
    for (const command of [showCheckpoint, (each: AuditCommand) => proveRecord(each, "1")]) {
      const { status, out, err } = await run(temp, command);
      assert.deepEqual([status, out], [1, ""]);
      assert.match(err, /^bxctl: the checkpoint in .* take it with --json; see docs\/runbook\.md#checkpoint-damaged\n$/u);
      const json = await run(temp, command, true);
      assert.equal(json.status, 0);
      assert.doesNotMatch(json.out.slice(0, -1), /\p{C}/u);
    }
  }
});

test("what isn't covered yet, isn't there, or is no number isn't proved", async () => {
  using temp = new TempDirectory();
  await keep(temp, 2);
  await using signed = await openSigned(temp);
  await signed.append(1);
  for (const [word, expected] of [
    ["3", 1],
    ["99", 1],
    ["0", 2],
    ["x", 2],
    ["1.5", 2],
  ] as const) {
    const { status, out, err } = await run(temp, (command) => proveRecord(command, word));
    assert.deepEqual([status, out], [expected, ""]);
    assert.match(err, /^bxctl: .*(?:#checkpoints-absent|a number from 1)\n$/u);
  }
});

test("verify against a live writer's newest checkpoint raises no false alarm", async () => {
  using temp = new TempDirectory();
  await using signed = await openSigned(temp, { every: 2 });
  await signed.append(2);
  const writing = (async () => {
    for (let round = 0; round < 30; round++) await signed.append(2);
  })();
  let isDone = false;
  const done = writing.then(() => {
    isDone = true;
  });
  while (!isDone) {
    const { status, out } = await verify(temp);
    assert.equal(status, 0, out);
  }
  await done;
});
