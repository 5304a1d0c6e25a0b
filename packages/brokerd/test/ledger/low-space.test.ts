/** Before nothing can be recorded any more, what changes something stops; what is left of the disk is for the records of the rest. */
import assert from "node:assert/strict";
import { mkdirSync, statfsSync } from "node:fs";
import { test } from "node:test";
import { DiskSpace } from "../../src/ledger/disk-space.ts";
import { FakeClock } from "../fakes/fake-clock.ts";
import { BoxFiles, Rig } from "../support/rig.ts";

const LOW_SPACE = { outcome: "denied", reason: "low_space" };

test("a disk is low when less is free than the mark, and when nobody can say", async () => {
  using files = new BoxFiles();
  const { blocks, bsize } = statfsSync(files.path);
  const whole = blocks * bsize;
  assert.equal(await new DiskSpace(files.path, 0, new FakeClock()).isLow(), false);
  assert.equal(await new DiskSpace(files.path, whole + 1, new FakeClock()).isLow(), true);
  assert.equal(await new DiskSpace(files.at("missing"), 0, new FakeClock()).isLow(), true);
});

test("a disk is looked at once a second at most", async () => {
  using files = new BoxFiles();
  const clock = new FakeClock();
  const space = new DiskSpace(files.at("later"), 0, clock);
  assert.equal(await space.isLow(), true);
  mkdirSync(files.at("later"));
  clock.advance(999);
  assert.equal(await space.isLow(), true);
  clock.advance(1);
  assert.equal(await space.isLow(), false);
});

test("each tool that changes or sends something is denied below the mark, asked for or not, and every denial is on record", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  files.grant("shell", "shell", "auto", "", [files.at("work")]);
  files.grant("fetch", "http_fetch", "auto");
  files.grant("read", "read_file", "auto");
  await using rig = await Rig.open(files);
  rig.isLowOnSpace = true;
  assert.deepEqual(await rig.write().outcome, LOW_SPACE);
  assert.deepEqual(await rig.send("shell", { command: "true" }).outcome, LOW_SPACE);
  assert.deepEqual(await rig.send("http_fetch", { url: "https://example.com/" }).outcome, LOW_SPACE);
  const read = await rig.read().outcome;
  assert.equal(typeof read === "object" && read.outcome, "result");
  assert.deepEqual(
    files.events("decision").map(({ outcome, reason, raises, spends }) => [outcome, reason, raises === null, spends]),
    [
      ["denied", "low_space", true, null],
      ["denied", "low_space", true, null],
      ["denied", "low_space", true, null],
      ["allowed", null, false, null],
    ],
  );
  assert.equal(rig.ledger.stopped, false);
});

test("what waited when the disk filled up isn't run by its approval, which is recorded as denied; a refusal is recorded as ever", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask", "uses = 1");
  await using rig = await Rig.open(files);
  const [one, two] = [rig.write("a", { session: "one" }), rig.write("a", { session: "two" })];
  const [first, second] = await Promise.all([one.pending, two.pending]);
  rig.isLowOnSpace = true;
  assert.deepEqual(await rig.approve(first), { kind: "approve_result", body: { outcome: "denied", reason: "low_space" } });
  assert.deepEqual(await one.outcome, LOW_SPACE);
  assert.deepEqual(await rig.refuse(second), { kind: "ok", body: {} });
  assert.deepEqual(await two.outcome, { outcome: "denied", reason: "approval_refused" });
  assert.deepEqual(
    files.events("approval").map(({ answer, outcome, denial, spends }) => [answer, outcome, denial, spends]),
    [
      ["approved", "denied", "low_space", null],
      ["refused", null, null, null],
    ],
  );
  assert.equal(rig.states.usesSpent("write"), 0);
  assert.equal(rig.runtime.runs.length, 0);
});
