import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalJson, sha256, timestampFromMillis } from "@boxmaker/proto";
import { BoxFiles, Rig, settle } from "../support/rig.ts";

const NO_SUCH = {
  kind: "error",
  body: { code: "no_such_approval", detail: "no call waits for an approval of this number; see docs/runbook.md#no-such-approval" },
};
const CHANGED = { kind: "approve_result", body: { outcome: "changed" } };

function isResult(outcome: unknown): boolean {
  return typeof outcome === "object" && outcome !== null && "outcome" in outcome && outcome.outcome === "result";
}

test("an ask is listed without its content and shown whole, with the digest of what is shown", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files, { ttlMs: 60_000 });
  const sent = rig.write("todo.md", { call: 41 });
  const id = await sent.pending;
  const expires = timestampFromMillis(rig.clock.now() + 60_000);
  const path = files.at("notes/todo.md");
  assert.deepEqual(rig.approvals.list(), {
    kind: "approval_list",
    body: {
      approvals: [
        { approval: id, session: "chat-1", tool: "write_file", bytes: canonicalJson({ path, content: "x" }).length, expires },
      ],
    },
  });
  const shown = rig.approvals.show(id);
  assert.equal(shown.kind, "approval_block");
  if (shown.kind !== "approval_block") return;
  const { approval, ...effect } = shown.body.ask;
  assert.equal(approval, id);
  assert.deepEqual(effect.request, { tool: "write_file", arguments: { path, content: "x" } });
  assert.equal(shown.body.digest, sha256(canonicalJson(effect)));
  assert.equal(shown.body.expires, expires);
  await rig.refuse(id);
});

test("what nobody waits for can't be shown, approved or refused", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  const digest = rig.table.get(id)?.ask.digest ?? assert.fail();
  await rig.refuse(id, "not today");
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_refused" });
  assert.deepEqual(rig.approvals.show(id), NO_SUCH);
  assert.deepEqual(await rig.approvals.approve(id, digest, { by: "bxctl", user: null }), NO_SUCH);
  assert.deepEqual(await rig.refuse(id), NO_SUCH);
  const [approval] = files.events("approval");
  assert.deepEqual([approval?.answer, approval?.by, approval?.reason, approval?.outcome], ["refused", "bxctl", "not today", null]);
});

test("an approval of another digest than what waits is `changed`: nothing runs, the ask goes on", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  assert.deepEqual(await rig.approvals.approve(id, sha256("something else"), { by: "bxctl", user: null }), CHANGED);
  assert.equal(rig.runtime.runs.length, 0);
  assert.equal(files.events("approval").length, 0);
  await rig.approve(id);
  assert.ok(isResult(await sent.outcome));
});

test("an edit of the grant while it waits makes the approval `changed`; what would run now can be looked at and approved", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  const first = rig.table.get(id)?.ask.digest;
  files.grant("write", "write_file", "ask", "# another text");
  assert.deepEqual(await rig.approve(id), CHANGED);
  assert.equal(rig.runtime.runs.length, 0);
  const second = rig.table.get(id)?.ask.digest;
  assert.notEqual(second, first);
  assert.ok(first !== undefined);
  assert.deepEqual(await rig.approvals.approve(id, first, { by: "bxctl", user: null }), CHANGED);
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "ask" } });
  assert.ok(isResult(await sent.outcome));
  assert.equal(files.events("approval")[0]?.digest, second);
});

test("an ask whose call a grant now allows by itself runs as `allowed`, by what is shown", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  files.grant("write", "write_file", "auto");
  assert.deepEqual(await rig.approve(id), CHANGED);
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "allowed" } });
  assert.ok(isResult(await sent.outcome));
});

for (const [what, change, reason] of [
  ["denied by a new grant", (files: BoxFiles) => files.grant("no", "write_file", "deny"), "denied_by_grant"],
  ["without its grant", (files: BoxFiles) => files.removeGrant("write"), "no_grant"],
  ["under grants that are invalid", (files: BoxFiles) => files.grant("broken", "write_file", "perhaps"), "grants_invalid"],
] as const) {
  test(`an ask that is ${what} when it is approved is denied and recorded so`, async () => {
    using files = new BoxFiles();
    files.grant("write", "write_file", "ask");
    files.grant("other", "read_file", "auto", "", [files.at("work")]);
    await using rig = await Rig.open(files);
    const sent = rig.write();
    const id = await sent.pending;
    change(files);
    assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "denied", reason } });
    assert.deepEqual(await sent.outcome, { outcome: "denied", reason });
    const [approval] = files.events("approval");
    assert.deepEqual([approval?.answer, approval?.outcome, approval?.denial, approval?.run], ["approved", "denied", reason, null]);
    assert.equal(rig.runtime.runs.length, 0);
  });
}

test("taint that has risen while an ask waited is what its approval is judged by", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask", 'max_taint = "private"');
  files.grant("read", "read_file", "auto", 'label = "secret"');
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  // Another call of the same session: the model may have several under way.
  assert.ok(isResult(await rig.read().outcome));
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "denied", reason: "taint" } });
  assert.deepEqual(files.events("approval")[0]?.before, { taint: "secret", untrusted: false });
  await sent.outcome;
});

test("a use that was spent while an ask waited isn't there any more when it is approved", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask", "uses = 1");
  await using rig = await Rig.open(files);
  const [one, two] = [rig.write("a", { session: "one" }), rig.write("a", { session: "two" })];
  const [first, second] = await Promise.all([one.pending, two.pending]);
  assert.deepEqual(await rig.approve(first), { kind: "approve_result", body: { outcome: "ask" } });
  assert.deepEqual(await rig.approve(second), { kind: "approve_result", body: { outcome: "denied", reason: "uses_spent" } });
  assert.ok(isResult(await one.outcome));
  assert.deepEqual(await two.outcome, { outcome: "denied", reason: "uses_spent" });
  assert.deepEqual(
    files.events("approval").map(({ spends }) => spends),
    ["write", null],
  );
});

test("only an approver that the grant names may answer, by the socket it came in on", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask", 'approvers = ["bxctl"]');
  await using rig = await Rig.open(files);
  const sent = rig.write();
  const id = await sent.pending;
  const gateway = { by: "gateway", user: "u1" } as const;
  const digest = rig.table.get(id)?.ask.digest ?? assert.fail();
  const forbidden = {
    kind: "error",
    body: { code: "forbidden", detail: "the grant doesn't let this approver answer; see docs/runbook.md#not-an-approver" },
  };
  assert.deepEqual(await rig.approvals.approve(id, digest, gateway), forbidden);
  assert.deepEqual(await rig.approvals.refuse(id, null, gateway), forbidden);
  assert.equal(rig.table.size, 1);
  await rig.refuse(id);
  assert.equal(files.events("approval").length, 1);
  await sent.outcome;
});

test("an ask is expired at its very millisecond, before the timer has come round", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files, { ttlMs: 1000 });
  const sent = rig.write();
  const id = await sent.pending;
  const digest = rig.table.get(id)?.ask.digest ?? assert.fail();
  rig.clock.set(rig.clock.now() + 999);
  assert.equal(rig.approvals.show(id).kind, "approval_block");
  rig.clock.set(rig.clock.now() + 1);
  assert.deepEqual(rig.approvals.show(id), NO_SUCH);
  assert.deepEqual(rig.approvals.list(), { kind: "approval_list", body: { approvals: [] } });
  assert.deepEqual(await rig.approvals.approve(id, digest, { by: "bxctl", user: null }), NO_SUCH);
  assert.deepEqual(await rig.refuse(id), NO_SUCH);
  rig.clock.advance(1000);
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_expired" });
  assert.deepEqual(
    files.events("approval").map(({ answer, by }) => [answer, by]),
    [["expired", "brokerd"]],
  );
  assert.equal(rig.clock.sleepers, 0);
});

test("an ask expires with the grant that permits it, where that is earlier", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files, { ttlMs: 10_000 });
  const expires = rig.clock.now() + 500;
  files.grant("write", "write_file", "ask", `expires = ${new Date(expires).toISOString()}`);
  const sent = rig.write();
  const id = await sent.pending;
  assert.equal(rig.table.get(id)?.expiresAt, expires);
  rig.clock.advance(500);
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_expired" });
});

test("a clock that is set back lets no ask wait longer than it was told", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  await using rig = await Rig.open(files, { ttlMs: 1000 });
  const sent = rig.write();
  const id = await sent.pending;
  rig.clock.set(rig.clock.now() - 86_400_000);
  rig.clock.advance(999);
  await settle();
  assert.equal(rig.approvals.show(id).kind, "approval_block");
  rig.clock.advance(1);
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_expired" });
});

test("an ask that waits at a crash is gone at the next start, and nothing of the earlier life can be approved", async () => {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  const [id, digest] = await (async () => {
    await using rig = await Rig.open(files);
    const pending = await rig.write().pending;
    return [pending, rig.table.get(pending)?.ask.digest ?? assert.fail()];
  })();
  await using rig = await Rig.open(files);
  assert.deepEqual(rig.states.openAsks, [id]);
  assert.deepEqual(await rig.approvals.approve(id, digest, { by: "bxctl", user: null }), NO_SUCH);
  await rig.ledger.close(id, "gone", { by: "brokerd", user: null }, "restart");
  assert.deepEqual(rig.states.openAsks, []);
});
