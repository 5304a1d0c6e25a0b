/** Rewinding: a new session with the state that the old one had then, and nothing of what the old one still waits for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditRecord, AuditSeq, CallId, type Label, SessionId } from "@boxmaker/proto";
import fc from "fast-check";
import { SessionStates, stateAt } from "../../src/ledger/session-states.ts";
import { BoxFiles, Rig, settle } from "../support/rig.ts";

const PUBLIC: Label = { taint: "public", untrusted: false };
const PRIVATE: Label = { taint: "private", untrusted: false };
const FOREIGN: Label = { taint: "secret", untrusted: true };

function grants(files: BoxFiles): void {
  files.grant("read", "read_file", "auto");
  files.grant("secret", "read_file", "auto", 'label = "secret"\nuntrusted = true', [files.at("work/secret")]);
  files.grant("write", "write_file", "ask", 'max_taint = "secret"');
}

function cut(session: string, turn: number, call: number, to: string): Parameters<Rig["approvals"]["rewind"]>[0] {
  return { session: SessionId.parse(session), turn, call: CallId.parse(call), to: SessionId.parse(to) };
}

async function threeCalls(rig: Rig, files: BoxFiles): Promise<void> {
  await rig.read("a", { call: 1 }).outcome;
  await rig.send("read_file", { path: files.at("work/secret") }, { call: 2 }).outcome;
  await rig.read("b", { call: 3 }).outcome;
}

test("a rewound session begins with the state that the calls of its prefix had raised, and says where it was cut off", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files);
  await threeCalls(rig, files);
  for (const [call, state] of [
    [0, PUBLIC],
    [1, PRIVATE],
    [2, FOREIGN],
    [3, FOREIGN],
  ] as const) {
    const answer = await rig.approvals.rewind(cut("chat-1", call, call, `new-${call}`));
    assert.ok(answer.kind === "session_report");
    assert.deepEqual(answer.body.state, state);
    assert.deepEqual(answer.body.from, { session: "chat-1", turn: call, call });
    assert.deepEqual(
      answer.body.raised_by.map((raise) => Number(raise.call)),
      [1, 2].filter((raised) => raised <= call),
    );
  }
  const opened = files.events("session_opened");
  assert.deepEqual(
    opened.map(({ from }) => from?.session ?? null),
    [null, "chat-1", "chat-1", "chat-1", "chat-1"],
  );
  assert.deepEqual(rig.states.session(SessionId.parse("chat-1"))?.label, FOREIGN);
  // The next call of the new session is judged by the new state.
  await rig.read("a", { session: "new-0", call: 1 }).outcome;
  assert.deepEqual(files.events("decision").at(-1)?.before, PUBLIC);
});

test("a rewound session can be cut off again, further up too", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files);
  await threeCalls(rig, files);
  await rig.approvals.rewind(cut("chat-1", 3, 3, "second"));
  await rig.read("c", { session: "second", call: 4 }).outcome;
  const third = await rig.approvals.rewind(cut("second", 1, 1, "third"));
  assert.ok(third.kind === "session_report");
  assert.deepEqual(third.body.state, PRIVATE);
  const folded = new SessionStates();
  for (const record of files.records()) folded.apply(record);
  for (const id of ["chat-1", "second", "third"].map((name) => SessionId.parse(name)))
    assert.deepEqual(folded.session(id), rig.states.session(id));
});

test("an id that the log knows is refused, and a session that the log doesn't know is opened like a new one", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files, { opening: PRIVATE });
  await rig.read("a").outcome;
  for (const to of ["chat-1", "quiet"]) {
    const answer = await rig.approvals.rewind(cut(to === "quiet" ? "quiet" : "chat-1", 0, 0, to));
    assert.ok(answer.kind === "error" && answer.body.code === "session_exists", to);
  }
  const answer = await rig.approvals.rewind(cut("quiet", 2, 0, "copy"));
  assert.ok(answer.kind === "session_report");
  assert.deepEqual(answer.body.state, PRIVATE);
});

test("what waits in the session that is rewound is gone, and can't be approved; what waits in others still can", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files);
  const [sent, other] = [rig.write("a"), rig.write("b", { session: "other" })];
  const [id, otherId] = await Promise.all([sent.pending, other.pending]);
  const answer = await rig.approvals.rewind(cut("chat-1", 0, 0, "new"));
  assert.equal(answer.kind, "session_report");
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_refused" });
  assert.deepEqual(
    files.events("approval").map(({ decision, answer: end, by, reason }) => ({ decision, end, by, reason })),
    [{ decision: id, end: "gone", by: "bxctl", reason: "rewound" }],
  );
  assert.equal((await rig.approve(otherId)).kind, "approve_result");
  assert.equal((await other.outcome) !== "foreign_session", true);
});

test("an ask that is being recorded while its session is rewound waits no more when it is", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files);
  await rig.read("a").outcome;
  rig.log.fault = ({ kind }) => (kind === "decision" ? "hold" : undefined);
  const sent = rig.write("a");
  while (rig.ledger.head < 5) await new Promise(setImmediate);
  await rig.approvals.rewind(cut("chat-1", 0, 0, "new"));
  rig.log.release();
  assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "approval_refused" });
  assert.equal(files.events("approval")[0]?.reason, "rewound");
  // The next one has nothing to do with it.
  rig.log.fault = () => undefined;
  const next = rig.write("a");
  assert.ok(rig.table.get(await next.pending) !== undefined);
});

test("a rewinding that can't be recorded opens nothing, and what waited is denied", async () => {
  for (const fault of ["throw", "reject"] as const) {
    using files = new BoxFiles();
    grants(files);
    await using rig = await Rig.open(files);
    const sent = rig.write("a");
    await sent.pending;
    rig.log.fault = ({ kind }) => (kind === "session_opened" ? fault : undefined);
    const answer = await rig.approvals.rewind(cut("chat-1", 0, 0, "new"));
    assert.ok(answer.kind === "error" && answer.body.code === "internal");
    assert.deepEqual(await sent.outcome, { outcome: "denied", reason: "audit_unavailable" });
    assert.deepEqual(
      files
        .events("session_opened")
        .map(({ session }) => session)
        .slice(0, 1),
      ["chat-1"],
    );
  }
});

test("rewinding and approving at the same moment: one winner, and what ran was approved before", async () => {
  using files = new BoxFiles();
  grants(files);
  await using rig = await Rig.open(files);
  for (let round = 0; round < 40; round++) {
    const session = `s-${round}`;
    const sent = rig.write("a", { session });
    const id = await sent.pending;
    const acts = [() => rig.approve(id), () => rig.approvals.rewind(cut(session, 0, 0, `${session}-new`))];
    const [first, second] = round % 2 === 0 ? acts : acts.toReversed();
    const begun = first?.();
    for (let turn = 0; turn < round % 5; turn++) await new Promise(setImmediate);
    await Promise.all([begun, rig.table.get(id) === undefined ? undefined : second?.()]);
    const outcome = await sent.outcome;
    const ends = files.events("approval").filter(({ decision }) => decision === id);
    assert.equal(ends.length, 1);
    assert.equal(ends[0]?.answer === "approved", typeof outcome === "object" && outcome.outcome === "result");
  }
  await settle();
  assert.equal(rig.table.size, 0);
});

const label = fc.record({ taint: fc.constantFrom("public", "private", "secret"), untrusted: fc.boolean() });

test("the state at a call is the join over the calls up to it, in whatever order they were let run", () => {
  const [session] = [SessionId.parse("s")];
  fc.assert(
    fc.property(label, fc.array(fc.tuple(fc.nat(9), label), { maxLength: 12 }), (start, calls) => {
      const states = new SessionStates();
      let seq = 0;
      const apply = (event: object): void => {
        const time = "2026-11-29T12:00:00.000Z";
        states.apply(AuditRecord.parse({ seq: AuditSeq.parse(++seq), time, prev: "0".repeat(64), event }));
      };
      apply({ kind: "session_opened", session, origin: "terminal", ceiling: "secret", state: start, from: null });
      const raises = new Map<number, Label[]>();
      for (const [call, raised] of calls) {
        raises.set(call, [...(raises.get(call) ?? []), raised]);
        const none = { reason: null, grant: null, grant_sha256: null, label: null, spends: null, run: null };
        const lists = { path_labels: [], uses_left: [], matched: [] };
        const about = { session, call, tool: "read_file", arguments: { form: "typed", values: {} } };
        const now = { now: "2026-11-29T12:00:00.000Z", policy_version: 1, before: start };
        apply({ kind: "decision", ...about, ...now, ...lists, ...none, outcome: "allowed", raises: raised });
      }
      const state = states.session(session) ?? assert.fail();
      assert.ok(state.steps.length <= 4);
      for (let call = 0; call <= 10; call++) {
        const seen = [start, ...[...raises].filter(([at]) => at <= call).flatMap(([, raised]) => raised)];
        const order = ["public", "private", "secret"];
        assert.deepEqual(stateAt(state, CallId.parse(call)), {
          taint: order[Math.max(...seen.map(({ taint }) => order.indexOf(taint)))],
          untrusted: seen.some(({ untrusted }) => untrusted),
        });
      }
    }),
  );
});
