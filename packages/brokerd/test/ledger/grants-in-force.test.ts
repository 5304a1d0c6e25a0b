import assert from "node:assert/strict";
import { test } from "node:test";
import { BoxFiles, Rig } from "../support/rig.ts";

test("a decision is taken by the grants that are last on record, also where they change while a new session's state is looked up", async () => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  let onNewSession: () => Promise<unknown> = async () => undefined;
  const newSession = async () => {
    await onNewSession();
    return { state: { taint: "public", untrusted: false }, ceiling: "secret" } as const;
  };
  await using rig = await Rig.open(files, { ledger: { newSession } });
  assert.equal(((await rig.read("a", { session: "known" }).outcome) as { outcome: string }).outcome, "result");

  onNewSession = async () => {
    onNewSession = async () => undefined;
    files.removeGrant("read");
    files.grant("other", "write_file", "auto");
    const other = await rig.read("a", { session: "known" }).outcome;
    assert.deepEqual(other, { outcome: "denied", reason: "no_grant" });
  };
  assert.deepEqual(await rig.read("a", { session: "new" }).outcome, { outcome: "denied", reason: "no_grant" });
  assert.deepEqual(rig.runtime.runs.length, 1, "what ran was decided before the grant was gone");
  assert.equal(files.events("grants_changed").length, 2);
});
