/** Events come to the log in the order in which they are written, so that no line of a call has to be checked field by field. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditEvent, canonicalJson } from "@boxmaker/proto";
import { BoxFiles, Rig } from "../support/rig.ts";

test("a call's decision and result are handed over as they are written", async (context) => {
  using files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const { mock } = context.mock.method(rig.audit, "append");
  await rig.read().outcome;
  const sent = rig.write();
  await rig.approve(await sent.pending);
  await sent.outcome;
  await rig.send("http_fetch", { url: "http://a.example/" }).outcome;
  await rig.send("unknown", "{").outcome;
  const { calls } = mock;
  const events = calls.map((call) => AuditEvent.parse(call.arguments[0]));
  assert.deepEqual(
    calls.map((call) => JSON.stringify(call.arguments[0])),
    events.map((event) => canonicalJson(event)),
  );
  const kinds = events.map(({ kind }) => kind);
  assert.deepEqual([kinds.filter((kind) => kind === "decision").length, kinds.filter((kind) => kind === "result").length], [4, 2]);
});
