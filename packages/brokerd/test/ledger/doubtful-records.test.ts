/** What lines that nothing vouches for may do to the state: make it stricter. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuditRecord, readRecordLine, SessionId } from "@boxmaker/proto";
import { approval, decision, LogBuilder, sessionOpened, started } from "../../../proto/test/audit/log-builder.ts";
import { SessionStates } from "../../src/ledger/session-states.ts";

const WORST = { taint: "secret", untrusted: true };
const ACCEPTED = {
  kind: "accepted_break",
  file: "2026-01-05.jsonl",
  line: 1,
  offset: 0,
  expected: "x",
  found: "y",
  last_good: 0,
  last_good_sha256: "0".repeat(64),
  lines: 1,
  sha256: "0".repeat(64),
};

function recordsOf(...events: readonly object[]): readonly AuditRecord[] {
  const log = new LogBuilder();
  return events.map((event) => {
    const line = log.line(event);
    log.chain(line);
    const reading = readRecordLine(Buffer.from(line));
    assert(reading.kind === "ok");
    return reading.value;
  });
}

const RUN = { ...decision(1, "allowed") };
const WRITABLE = {
  ...RUN,
  tool: "shell",
  spends: "notes",
  run: {
    runtime: "podman",
    image: `sha256:${"a".repeat(64)}`,
    mounts: [{ path: "/srv/notes", writable: true }],
    masked: [],
    exposed: [],
    host_exec: false,
    hosts: [],
  },
};

test("an accepted break takes every session and path that is known for the worst, and drops what was open", () => {
  const states = new SessionStates();
  for (const record of recordsOf(started(0), sessionOpened("s-1"), WRITABLE, decision(2, "ask"))) states.apply(record);
  assert.deepEqual([states.openAsks.length, states.unfinished.length, states.usesSpent("notes")], [1, 1, 1]);
  for (const record of recordsOf(ACCEPTED)) states.apply(record);
  assert.deepEqual(states.session(SessionId.parse("s-1"))?.label, WORST);
  assert.deepEqual(states.pathLabels, [{ path: "/srv/notes", label: WORST }]);
  assert.deepEqual([states.openAsks.length, states.unfinished.length, states.usesSpent("notes")], [0, 0, 1]);
});

test("a doubtful session is known afterwards, and can't be taken for a new one", () => {
  const states = new SessionStates();
  for (const record of recordsOf(sessionOpened("s-2"))) states.doubt(record);
  assert.deepEqual(states.session(SessionId.parse("s-2"))?.label, WORST);
});

test("a doubtful opening lowers no session that is known", () => {
  const states = new SessionStates();
  for (const record of recordsOf(sessionOpened("s-1"), { ...RUN, raises: WORST })) states.apply(record);
  const before = states.session(SessionId.parse("s-1"));
  assert.deepEqual(before?.label, WORST);
  for (const record of recordsOf(sessionOpened("s-1"))) states.doubt(record);
  assert.deepEqual(states.session(SessionId.parse("s-1")), before);
});

test("doubtful calls spend uses and label the paths that they may have written, asked for or not", () => {
  const states = new SessionStates();
  const asked = { ...WRITABLE, outcome: "ask", raises: null, spends: null, run: null };
  const approved = { ...approval(2, "approved", "ask"), raises: WORST, spends: "notes", run: WRITABLE.run };
  for (const record of recordsOf(WRITABLE, asked, approved)) states.doubt(record);
  assert.equal(states.usesSpent("notes"), 2);
  assert.deepEqual(states.pathLabels, [{ path: "/srv/notes", label: WORST }]);
  for (const record of recordsOf({ ...approved, decision: 700 })) states.doubt(record);
  assert.equal(states.usesSpent("notes"), 3);
});

test("doubtful answers, results and starts take nothing away", () => {
  const states = new SessionStates();
  for (const record of recordsOf(started(0), sessionOpened("s-1"), decision(1, "ask"), decision(2, "allowed")))
    states.apply(record);
  const result = { kind: "result", decision: 4, session: "s-1", call: 2, status: "ok" };
  const content = { sha256: "0".repeat(64), bytes: 1, truncated: false, elapsed_ms: 1 };
  for (const record of recordsOf(started(0), { ...result, ...content }, approval(3, "refused"))) states.doubt(record);
  assert.deepEqual([states.openAsks, states.unfinished.map((call) => call.decision)], [[3], [4]]);
});
