/** What a gateway may do at approval.sock, and what not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AdminRequest,
  type ApprovalId,
  type ApprovalRequest,
  type Hash32,
  sha256,
  timestampFromMillis,
} from "@boxmaker/proto";
import { type AnyAnswer, ask, Client } from "../support/client.ts";
import { call, type Served, serve } from "../support/served.ts";

const ANNA = { id: "4xp9fdt77pncbef59f4k1qe83o", name: "anna" };
const NOT_AN_APPROVER = {
  kind: "error",
  body: { code: "forbidden", detail: "the grant doesn't let this approver answer; see docs/runbook.md#not-an-approver" },
};
const NO_SUCH_APPROVAL = {
  kind: "error",
  body: {
    code: "no_such_approval",
    detail: "no call waits for an approval of this number; see docs/runbook.md#no-such-approval",
  },
};
const CHANGED = { kind: "approve_result", body: { outcome: "changed" } };

interface Waiting extends Disposable {
  readonly id: ApprovalId;
  readonly digest: Hash32;
  readonly client: Client;
}

/** A call that waits; one in `phone` may be answered by the gateway, one in `notes` by the owner alone. */
async function waiting(served: Served, session: string, folder: "phone" | "notes" = "phone"): Promise<Waiting> {
  const client = await Client.request(served.broker, call(served, "write_file", session, folder));
  const pending = (await client.next())?.message;
  assert.ok(pending?.kind === "pending_approval");
  const { approval: id } = pending.body;
  const digest = served.rig.table.get(id)?.ask.digest;
  assert.ok(digest !== undefined);
  return { id, digest, client, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

function approve({ id: approval, digest }: Waiting, user = ANNA): ApprovalRequest {
  return { kind: "approve_ask", body: { approval, digest, user } };
}

function refuse({ id: approval, digest }: Waiting, reason: string | null = null): ApprovalRequest {
  return { kind: "refuse_ask", body: { approval, digest, user: ANNA, reason } };
}

function look({ id: approval }: Waiting): ApprovalRequest {
  return { kind: "ask", body: { approval } };
}

test("a gateway is shown the asks that it may answer, each of them whole, and no others", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  using other = await waiting(served, "other", "notes");
  const list = await ask(served.approval, { kind: "asks", body: {} });
  assert.ok(list.kind === "approval_list");
  assert.deepEqual(
    list.body.approvals.map(({ approval, session }) => [approval, session]),
    [[mine.id, "mine"]],
  );
  const shown = await ask(served.approval, look(mine));
  assert.deepEqual(shown, await ask(served.admin, { kind: "approval", body: { approval: mine.id } }));
  assert.ok(shown.kind === "approval_block" && shown.body.digest === mine.digest);
  assert.deepEqual(await ask(served.approval, look(other)), NOT_AN_APPROVER);
  const all = await ask(served.admin, { kind: "approvals", body: {} });
  assert.equal(all.kind === "approval_list" && all.body.approvals.length, 2, "the owner sees both");
});

test("an approval of a gateway runs the call, and is on record with the user's id, in the log with the name", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  assert.deepEqual(await ask(served.approval, approve(mine)), { kind: "approve_result", body: { outcome: "ask" } });
  const outcome = await mine.client.final();
  assert.equal(outcome.kind === "tool_response" && outcome.body.outcome, "result");
  const [record] = served.files.events("approval");
  assert.deepEqual(
    [record?.answer, record?.by, record?.user, record?.digest, record?.outcome],
    ["approved", "gateway", ANNA.id, mine.digest, "ask"],
  );
  assert.ok(
    served.rig.lines.some((line) =>
      line.endsWith(` gateway-answers approval=${mine.id} answer=approve user=${ANNA.id} name=anna\n`),
    ),
  );
  assert.deepEqual(await ask(served.approval, approve(mine)), NO_SUCH_APPROVAL, "it is spent");
  assert.deepEqual(await ask(served.approval, look(mine)), NO_SUCH_APPROVAL);
});

test("a refusal of a gateway ends the wait, on record with the user's id and the reason", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  assert.deepEqual(await ask(served.approval, refuse(mine, "not this file")), { kind: "ok", body: {} });
  assert.deepEqual(await mine.client.final(), { kind: "tool_response", body: { outcome: "denied", reason: "approval_refused" } });
  const [record] = served.files.events("approval");
  assert.deepEqual([record?.answer, record?.by, record?.user, record?.reason], ["refused", "gateway", ANNA.id, "not this file"]);
  assert.deepEqual(await ask(served.approval, refuse(mine)), NO_SUCH_APPROVAL);
  assert.equal(served.rig.runtime.runs.length, 0);
});

test("an answer to an ask that doesn't let the gateway approve, or under another digest, does nothing", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  using other = await waiting(served, "other", "notes");
  for (const answer of [approve, refuse]) {
    assert.deepEqual(await ask(served.approval, answer(other)), NOT_AN_APPROVER);
    assert.deepEqual(await ask(served.approval, answer({ ...other, digest: mine.digest })), NOT_AN_APPROVER);
    for (const digest of [other.digest, sha256("something else")])
      assert.deepEqual(await ask(served.approval, answer({ ...mine, digest })), CHANGED);
  }
  assert.deepEqual(served.files.events("approval"), []);
  assert.equal(served.rig.runtime.runs.length, 0);
  assert.equal(served.rig.table.size, 2);
  // The owner's rights are what they were.
  for (const { id: approval, digest } of [mine, other])
    assert.deepEqual(await ask(served.admin, { kind: "approve", body: { approval, digest } }), {
      kind: "approve_result",
      body: { outcome: "ask" },
    });
});

test("a grant that is edited so that the gateway may not answer any more is heeded at once, and the watcher is told", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  using watcher = await Client.request(served.approval, { kind: "watch_asks", body: {} });
  assert.deepEqual((await watcher.next())?.message, { kind: "ask_event", body: { approval: mine.id, change: "pending" } });
  served.files.grant("phone", "write_file", "ask", "", [served.files.at("phone")]);
  assert.deepEqual(await ask(served.approval, approve(mine)), CHANGED);
  assert.deepEqual((await watcher.next())?.message, { kind: "ask_event", body: { approval: mine.id, change: "elsewhere" } });
  assert.deepEqual(await ask(served.approval, look(mine)), NOT_AN_APPROVER);
  assert.deepEqual(await ask(served.approval, approve(mine)), NOT_AN_APPROVER);
  const shown = await ask(served.admin, { kind: "approval", body: { approval: mine.id } });
  assert.ok(shown.kind === "approval_block");
  const answer = await ask(served.admin, { kind: "approve", body: { approval: mine.id, digest: shown.body.digest } });
  assert.deepEqual(answer, { kind: "approve_result", body: { outcome: "ask" } });
});

test("a grant beside it that lets the owner alone answer takes the ask from the gateway, though the call's own grant is the same", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  served.files.grant("strict", "write_file", "ask", 'approvers = ["bxctl"]', [served.files.at("phone")]);
  assert.deepEqual(await ask(served.approval, approve(mine)), CHANGED);
  assert.deepEqual(await ask(served.approval, look(mine)), NOT_AN_APPROVER);
  assert.equal(served.rig.runtime.runs.length, 0);
});

test("a gateway's watcher is told what becomes of its asks, whoever answers, nothing of others, and that brokerd stops", async () => {
  await using served = await serve();
  using early = await waiting(served, "early");
  using hidden = await waiting(served, "hidden", "notes");
  using watcher = await Client.request(served.approval, { kind: "watch_asks", body: {} });
  const told: unknown[] = [];
  const tell = async (): Promise<void> => {
    const event = (await watcher.next())?.message;
    told.push(event?.kind === "ask_event" ? [event.body.approval, event.body.change] : event);
  };
  await tell();
  assert.deepEqual(await ask(served.admin, { kind: "refuse", body: { approval: hidden.id, reason: null } }), {
    kind: "ok",
    body: {},
  });
  assert.deepEqual(await ask(served.admin, { kind: "refuse", body: { approval: early.id, reason: null } }), {
    kind: "ok",
    body: {},
  });
  await tell();
  using approved = await waiting(served, "approved");
  await tell();
  await ask(served.approval, approve(approved));
  await tell();
  using late = await waiting(served, "late");
  await tell();
  late.client.socket.destroy();
  await tell();
  using left = await waiting(served, "left");
  await tell();
  await served.stop();
  await tell();
  await tell();
  assert.deepEqual(told, [
    [early.id, "pending"],
    [early.id, "refused"],
    [approved.id, "pending"],
    [approved.id, "approved"],
    [late.id, "pending"],
    [late.id, "gone"],
    [left.id, "pending"],
    [left.id, "gone"],
    { kind: "error", body: { code: "cancelled", detail: "brokerd is stopping" } },
  ]);
});

test("what names no user, or names one in another shape, is no answer", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  const text = JSON.stringify({ v: 1, id: 1, final: true, ...approve(mine) });
  for (const user of [
    null,
    ANNA.id,
    { id: ANNA.id },
    { ...ANNA, id: "" },
    { ...ANNA, id: "two words" },
    { ...ANNA, id: "ä" },
    { ...ANNA, id: "x".repeat(65) },
    { ...ANNA, name: "an\nna" },
    { ...ANNA, name: "\u202eanna" },
    { ...ANNA, bot: false },
  ]) {
    using client = await Client.connect(served.approval);
    const body = Buffer.from(text.replace(JSON.stringify(ANNA), JSON.stringify(user)));
    const header = Buffer.alloc(4);
    header.writeUInt32BE(body.length);
    client.socket.write(Buffer.concat([header, body]));
    const answer = await client.final();
    assert.equal(answer.kind === "error" && answer.body.code, "bad_message", JSON.stringify(user));
  }
  assert.equal(served.rig.table.size, 1);
});

const ROUNDS = 12;

function isWin(answer: AnyAnswer): boolean {
  return answer.kind === "ok" || (answer.kind === "approve_result" && answer.body.outcome === "ask");
}

for (const [atGateway, atBox] of [
  ["approve", "approve"],
  ["approve", "refuse"],
  ["refuse", "approve"],
  ["refuse", "refuse"],
] as const) {
  test(`of a gateway that answers ${atGateway} and an owner who answers ${atBox} at the same moment one wins, and one record says who`, async () => {
    await using served = await serve();
    for (let round = 0; round < ROUNDS; round++) {
      using mine = await waiting(served, `s-${round}`);
      const { id: approval, digest } = mine;
      const gateway = atGateway === "approve" ? approve(mine) : refuse(mine);
      const box: AdminRequest =
        atBox === "approve"
          ? { kind: "approve", body: { approval, digest } }
          : { kind: "refuse", body: { approval, reason: null } };
      const asked =
        round % 2 === 0
          ? [ask(served.approval, gateway), ask(served.admin, box)]
          : [ask(served.admin, box), ask(served.approval, gateway)];
      const answers = await Promise.all(asked);
      const [ofGateway, ofBox] = round % 2 === 0 ? answers : answers.toReversed();
      assert.ok(ofGateway !== undefined && ofBox !== undefined);
      assert.equal(answers.filter(isWin).length, 1, JSON.stringify(answers));
      assert.deepEqual(isWin(ofGateway) ? ofBox : ofGateway, NO_SUCH_APPROVAL);
      const records = served.files.events("approval").filter(({ decision }) => decision === approval);
      assert.deepEqual(
        records.map(({ by, user, answer }) => [by, user, answer]),
        [isWin(ofGateway) ? ["gateway", ANNA.id, PAST[atGateway]] : ["bxctl", null, PAST[atBox]]],
      );
      const outcome = await mine.client.final();
      assert.equal(
        outcome.kind === "tool_response" && outcome.body.outcome,
        (isWin(ofGateway) ? atGateway : atBox) === "approve" ? "result" : "denied",
      );
    }
  });
}

const PAST = { approve: "approved", refuse: "refused" } as const;

test("a gateway can't answer what has expired", async () => {
  await using served = await serve();
  using mine = await waiting(served, "mine");
  const expires = served.rig.table.get(mine.id)?.expiresAt ?? 0;
  assert.ok(timestampFromMillis(expires) !== undefined);
  served.rig.clock.advance(expires - served.rig.clock.now());
  assert.deepEqual(await ask(served.approval, approve(mine)), NO_SUCH_APPROVAL);
  assert.deepEqual(await ask(served.approval, refuse(mine)), NO_SUCH_APPROVAL);
  assert.deepEqual(await mine.client.final(), { kind: "tool_response", body: { outcome: "denied", reason: "approval_expired" } });
  assert.equal(served.files.events("approval")[0]?.by, "brokerd");
});
