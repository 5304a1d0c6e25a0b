/** What the runtime keeps for the next call of a session's grant: dropped with the grant, and not before its last call is answered. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DONE, untilToldOrKilled } from "../fakes/recording-runtime.ts";
import { BoxFiles, type GivenGrant, Rig, settle } from "../support/rig.ts";

async function given({ allowing }: GivenGrant): Promise<void> {
  assert.equal((await allowing).kind, "given");
}

test("what the runtime keeps for its next call is dropped when it has ended, but not before its last call is answered", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  await given(rig.allow("read_file", files.at("notes"), { uses: 2 }));
  const seen: number[] = [];
  rig.runtime.answer = () => {
    seen.push(rig.runtime.grantChanges);
    return DONE;
  };
  await rig.read().outcome;
  await rig.read().outcome;
  assert.deepEqual(seen, [0, 0]);
  assert.equal(rig.runtime.grantChanges, 1);
  const closed = rig.allow("read_file", files.at("notes"));
  await given(closed);
  closed.leave();
  await settle();
  assert.equal(rig.runtime.grantChanges, 2);
});

test("another call's answer drops nothing that the call which spent the last use may still leave behind", async () => {
  using files = new BoxFiles();
  files.grant("work", "read_file", "auto", "", [files.at("work")]);
  await using rig = await Rig.open(files);
  await given(rig.allow("read_file", files.at("notes"), { uses: 1 }));
  const last = untilToldOrKilled();
  rig.runtime.answer = last.answer;
  const spending = rig.read();
  while (rig.runtime.running === 0) await new Promise(setImmediate);
  rig.runtime.answer = () => DONE;
  await rig.send("read_file", { path: files.at("work/a") }).outcome;
  assert.equal(rig.runtime.grantChanges, 0);
  last.end();
  await spending.outcome;
  assert.equal(rig.runtime.grantChanges, 1);
});
