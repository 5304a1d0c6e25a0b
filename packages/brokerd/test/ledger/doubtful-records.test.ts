/** What lines that nothing vouches for may do to the state: make it stricter. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AbsPath,
  type ApprovalAuditEvent,
  ApprovalId,
  type AuditEvent,
  type AuditRecord,
  AuditSeq,
  CallId,
  type DecisionEvent,
  type Label,
  type RunPlan,
  SessionId,
  sha256,
  Timestamp,
  ZERO_HASH,
} from "@boxmaker/proto";
import { approvalEvent } from "../../src/ledger/approval-event.ts";
import { isUsed, SessionStates, stateAt } from "../../src/ledger/session-states.ts";

const LOW: Label = { taint: "private", untrusted: false };
const WORST: Label = { taint: "secret", untrusted: true };
const NOW = Timestamp.parse("2026-01-05T08:00:00.000Z");
const NOTES = AbsPath.parse("/srv/notes");
const RUN: RunPlan = {
  runtime: "podman",
  image: `sha256:${"a".repeat(64)}`,
  mounts: [{ path: NOTES, writable: true }],
  masked: [],
  exposed: [],
  host_exec: false,
  hosts: [],
};

const ACCEPTED: AuditEvent = {
  kind: "accepted_break",
  file: "2026-01-05.jsonl",
  line: 1,
  offset: 0,
  expected: "x",
  found: "y",
  last_good: 0,
  last_good_sha256: ZERO_HASH,
  lines: 1,
  sha256: ZERO_HASH,
};

function started(): AuditEvent {
  return { kind: "started", version: "1", config_sha256: ZERO_HASH, head: 0, reserved: [] };
}

function sessionOpened(session: string): AuditEvent {
  return {
    kind: "session_opened",
    session: SessionId.parse(session),
    origin: "terminal",
    ceiling: "secret",
    state: LOW,
    from: null,
  };
}

/** A command that may write to the notes, let run at once or asked for. */
function decision(call: number, outcome: "allowed" | "ask", raises: Label = LOW): DecisionEvent {
  const runs = outcome === "allowed";
  return {
    kind: "decision",
    session: SessionId.parse("s-1"),
    call: CallId.parse(call),
    tool: "shell",
    arguments: { form: "typed", values: { command: "true" } },
    now: NOW,
    policy_version: 1,
    before: LOW,
    path_labels: [],
    uses_left: [],
    matched: [],
    outcome,
    reason: null,
    grant: "notes",
    grant_sha256: sha256("grant"),
    label: LOW,
    raises: runs ? raises : null,
    spends: runs ? "notes" : null,
    run: runs ? RUN : null,
  };
}

function approval(of: number, answer: "approved" | "refused"): ApprovalAuditEvent {
  const ran = { outcome: "ask", raises: WORST, spends: "notes", run: RUN } as const;
  return approvalEvent(ApprovalId.parse(of), { answer, by: "bxctl", ...(answer === "approved" ? ran : {}) });
}

function recordsOf(...events: readonly AuditEvent[]): readonly AuditRecord[] {
  return events.map((event, index) => ({ seq: AuditSeq.parse(index + 1), time: NOW, prev: ZERO_HASH, event }));
}

test("an accepted break takes every session and path that is known for the worst, and drops what was open", () => {
  const states = new SessionStates();
  for (const record of recordsOf(started(), sessionOpened("s-1"), decision(1, "allowed"), decision(2, "ask"))) states.apply(record);
  assert.deepEqual([states.openAsks.length, states.unfinished.length, states.usesSpent("notes")], [1, 1, 1]);
  for (const record of recordsOf(ACCEPTED)) states.apply(record);
  assert.deepEqual(states.session(SessionId.parse("s-1"))?.label, WORST);
  assert.deepEqual(states.pathLabels, [{ path: "/srv/notes", label: WORST }]);
  assert.deepEqual([states.openAsks.length, states.unfinished.length], [0, 0]);
});

test("an accepted break or loss takes every use of each grant that the log knows to have uses for spent, met by a call or only seen", () => {
  const loss: AuditEvent = { kind: "accepted_loss", origin: "x", size: 9, root: ZERO_HASH, found: 4 };
  for (const accepted of [ACCEPTED, loss]) {
    const seen: DecisionEvent = { ...decision(2, "ask"), uses_left: [{ grant: "seen", left: 3 }] };
    const states = new SessionStates();
    for (const record of recordsOf(started(), sessionOpened("s-1"), decision(1, "allowed"), seen)) states.apply(record);
    assert.deepEqual([states.usesSpent("notes"), states.usesSpent("seen")], [1, 0]);
    for (const record of recordsOf(accepted)) states.apply(record);
    for (const grant of ["notes", "seen"]) assert.equal(states.usesSpent(grant), Number.MAX_SAFE_INTEGER);
    // What is new is the owner's renewal.
    assert.equal(states.usesSpent("another"), 0);
    // More can't be spent, and the number stays one that can be saved.
    for (const record of recordsOf(decision(7, "allowed"))) states.doubt(record);
    assert.equal(states.usesSpent("notes"), Number.MAX_SAFE_INTEGER);
  }
});

test("a doubtful session is known afterwards, and can't be taken for a new one", () => {
  const states = new SessionStates();
  for (const record of recordsOf(sessionOpened("s-2"))) states.doubt(record);
  assert.deepEqual(states.session(SessionId.parse("s-2"))?.label, WORST);
});

test("a doubtful opening lowers no session that is known", () => {
  const states = new SessionStates();
  for (const record of recordsOf(sessionOpened("s-1"), decision(1, "allowed", WORST))) states.apply(record);
  const before = states.session(SessionId.parse("s-1"));
  assert.deepEqual(before?.label, WORST);
  for (const record of recordsOf(sessionOpened("s-1"))) states.doubt(record);
  assert.deepEqual(states.session(SessionId.parse("s-1")), before);
});

test("doubtful calls spend uses and label the paths that they may have written, asked for or not", () => {
  const states = new SessionStates();
  for (const record of recordsOf(decision(1, "allowed"), decision(2, "ask"), approval(2, "approved"))) states.doubt(record);
  assert.equal(states.usesSpent("notes"), 2);
  assert.deepEqual(states.pathLabels, [{ path: "/srv/notes", label: WORST }]);
  for (const record of recordsOf(approval(700, "approved"))) states.doubt(record);
  assert.equal(states.usesSpent("notes"), 3);
});

test("doubtful answers, results and starts take nothing away", () => {
  const states = new SessionStates();
  for (const record of recordsOf(started(), sessionOpened("s-1"), decision(1, "ask"), decision(2, "allowed"))) states.apply(record);
  const result: AuditEvent = {
    kind: "result",
    decision: AuditSeq.parse(4),
    session: SessionId.parse("s-1"),
    call: CallId.parse(2),
    status: "ok",
    sha256: ZERO_HASH,
    bytes: 1,
    truncated: false,
    elapsed_ms: 1,
  };
  for (const record of recordsOf(started(), result, approval(3, "refused"))) states.doubt(record);
  assert.deepEqual([states.openAsks, states.unfinished.map((call) => call.decision)], [[3], [4]]);
});

test("numbers of calls and of grants that doubtful lines have used aren't used again, and no doubtful grant is in force", () => {
  const states = new SessionStates();
  for (const record of recordsOf(sessionOpened("s-1"), decision(1, "allowed"))) states.apply(record);
  const grant: AuditEvent = { kind: "session_grant", session: SessionId.parse("s-1"), grant: "session-7", sha256: ZERO_HASH };
  for (const record of recordsOf(decision(2, "ask"), grant)) states.doubt(record);
  const calls = states.session(SessionId.parse("s-1"))?.calls ?? assert.fail();
  assert.deepEqual(
    [1, 2, 3].map((call) => isUsed(calls, CallId.parse(call))),
    [true, true, false],
  );
  assert.equal(states.lastSessionGrant, 7);
  assert.deepEqual(states.sessionGrants, []);
});

test("a doubtful reset takes no label away, and an accepted break ends the grants of sessions", () => {
  const states = new SessionStates();
  const grant: AuditEvent = { kind: "session_grant", session: SessionId.parse("s-1"), grant: "session-1", sha256: ZERO_HASH };
  for (const record of recordsOf(sessionOpened("s-1"), decision(1, "allowed"), grant)) states.apply(record);
  for (const record of recordsOf({ kind: "label_reset", path: NOTES, before: LOW, after: LOW })) states.doubt(record);
  assert.deepEqual(states.pathLabels, [{ path: NOTES, label: LOW }]);
  for (const record of recordsOf(ACCEPTED)) states.apply(record);
  assert.deepEqual(states.sessionGrants, []);
  // A session that is rewound to before the break begins at the worst, too.
  const state = states.session(SessionId.parse("s-1")) ?? assert.fail();
  assert.deepEqual(stateAt(state, CallId.parse(0)), WORST);
});
