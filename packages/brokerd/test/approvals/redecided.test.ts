/** What comes between an approval and its record: the decision is by what holds in the step that records it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminAnswer, ApprovalId } from "@boxmaker/proto";
import { DONE } from "../fakes/recording-runtime.ts";
import { BoxFiles, Rig, type SentCall, settle } from "../support/rig.ts";

interface Held {
  readonly rig: Rig;
  readonly files: BoxFiles;
  readonly sent: SentCall;
  readonly id: ApprovalId;
  readonly approving: Promise<AdminAnswer>;
}

/**
 * Approves a write while another session's box may write there, so that the approval has begun and can't be recorded; then lets `meanwhile`
 * happen, and ends the box.
 */
async function approveAround(
  lines: string,
  meanwhile: (held: Held) => Promise<void> | void,
): Promise<Held & { answer: AdminAnswer }> {
  const files = new BoxFiles();
  files.grant("write", "write_file", "ask", lines);
  files.grant("shell", "shell", "auto", 'max_taint = "secret"', [files.at("notes")]);
  files.grant("secret", "read_file", "auto", 'label = "secret"', [files.at("work")]);
  const rig = await Rig.open(files);
  const box = Promise.withResolvers<void>();
  const sent = rig.write();
  const id = await sent.pending;
  rig.runtime.answer = async (spec) => {
    if (spec.request.tool === "shell") await box.promise;
    return DONE;
  };
  const shell = rig.send("shell", { command: "true" }, { session: "other" });
  while (rig.runtime.running === 0) await settle();
  const approving = rig.approve(id);
  await settle();
  assert.equal(files.events("approval").length, 0);
  const held = { rig, files, sent, id, approving };
  await meanwhile(held);
  box.resolve();
  await shell.outcome;
  return { ...held, answer: await approving };
}

async function assertDenied({ rig, files, sent, answer }: Held & { answer: AdminAnswer }, reason: string): Promise<void> {
  assert.deepEqual(answer, { kind: "approve_result", body: { outcome: "denied", reason } });
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason });
  assert.deepEqual(
    files.events("approval").map((event) => [event.answer, event.outcome, event.denial, event.run, event.spends]),
    [["approved", "denied", reason, null, null]],
  );
  assert.ok(rig.runtime.runs.every(({ request }) => request.tool !== "write_file"));
  await close({ rig, files });
}

async function close({ rig, files }: Pick<Held, "rig" | "files">): Promise<void> {
  await rig[Symbol.asyncDispose]();
  files[Symbol.dispose]();
}

test("a grant that is removed while its approval is under way lets nothing run", async () => {
  await assertDenied(await approveAround("", ({ files }) => files.removeGrant("write")), "no_grant");
});

test("a deny that is added while an approval is under way lets nothing run", async () => {
  await assertDenied(await approveAround("", ({ files }) => files.grant("no", "write_file", "deny")), "denied_by_grant");
});

test("a grant that is edited while its approval is under way runs nothing that wasn't shown", async () => {
  const held = await approveAround("", ({ files }) => files.grant("write", "write_file", "ask", "host_exec = true"));
  const { rig, files, sent, id, answer } = held;
  assert.deepEqual(answer, { kind: "approve_result", body: { outcome: "changed" } });
  assert.equal(files.events("approval").length, 0);
  // It waits still, as what it is now.
  assert.deepEqual(await rig.approve(id), { kind: "approve_result", body: { outcome: "ask" } });
  await sent.outcome;
  assert.equal(rig.runtime.runs.filter(({ request }) => request.tool === "write_file").length, 1);
  await close(held);
});

test("taint that rises while an approval is under way is what it is judged by", async () => {
  const raise = async ({ rig, files }: Held): Promise<void> => {
    await rig.send("read_file", { path: files.at("work/a") }).outcome;
  };
  await assertDenied(await approveAround('max_taint = "private"', raise), "taint");
});

test("the last use that is spent while an approval is under way isn't there for it", async () => {
  const files = new BoxFiles();
  files.grant("write", "write_file", "ask", "uses = 1");
  const rig = await Rig.open(files);
  const [one, two] = [rig.write("a", { session: "one" }), rig.write("a", { session: "two" })];
  const ids = await Promise.all([one.pending, two.pending]);
  const answers = await Promise.all(ids.map((id) => rig.approve(id)));
  assert.deepEqual(answers.map((answer) => (answer.kind === "approve_result" ? answer.body.outcome : answer.kind)).sort(), [
    "ask",
    "denied",
  ]);
  await Promise.all([one.outcome, two.outcome]);
  assert.equal(rig.runtime.runs.length, 1);
  assert.equal(rig.states.usesSpent("write"), 1);
  await close({ rig, files });
});

test("an ask that expires while its approval is under way doesn't run", async () => {
  const held = await approveAround("", ({ rig }) => rig.clock.advance(900_000));
  const { rig, files, sent, answer } = held;
  assert.equal(answer.kind === "error" && answer.body.code, "no_such_approval");
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_expired" });
  assert.deepEqual(
    files.events("approval").map((event) => event.answer),
    ["expired"],
  );
  assert.equal(rig.runtime.runs.length, 1);
  await close(held);
});

test("an ask that is refused while its approval is under way doesn't run", async () => {
  const held = await approveAround("", async ({ rig, id }) => {
    assert.deepEqual(await rig.refuse(id), { kind: "ok", body: {} });
  });
  const { rig, sent, answer } = held;
  assert.equal(answer.kind === "error" && answer.body.code, "no_such_approval");
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_refused" });
  assert.equal(rig.runtime.runs.length, 1);
  await close(held);
});

test("an approval that is under way when brokerd stops lets nothing run", async () => {
  let stopped: Promise<void> | undefined;
  const held = await approveAround("", async ({ rig, approving }) => {
    stopped = rig.calls.stop(new AbortController().signal);
    await approving;
  });
  const { files, sent, answer } = held;
  assert.ok(answer.kind === "error" || (answer.kind === "approve_result" && answer.body.outcome === "denied"));
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "shutting_down" });
  await stopped;
  assert.equal(files.events("approval").length, 1);
  await close(held);
});
