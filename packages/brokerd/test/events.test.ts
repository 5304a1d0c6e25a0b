/** What brokerd logs more than once, and what it doesn't. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openLog } from "@boxmaker/edge/log";
import { AbsPath, ApprovalId, AuditSeq, CallId, type GrantProblem, SessionId } from "@boxmaker/proto";
import { Events } from "../src/events.ts";

const problem = (file: string, line: number): GrantProblem => ({ file, line, problem: "unknown key" });

test("grantsInvalid() prints each distinct set of problems once, whole and with its pointer, until the grants are valid again", () => {
  const lines: string[] = [];
  const events = new Events(
    openLog(
      (line) => lines.push(line),
      () => 0,
    ),
    { now: () => 0 },
  );
  const first = [problem("/g/a.toml", 1), problem("/g/a.toml", 2)];
  const second = [problem("/g/a.toml", 2)];
  for (const set of [first, first, second, first, second]) events.grantsInvalid(set);
  assert.equal(lines.length, 3);
  for (const line of lines) assert.match(line, /grants-invalid.*a\.toml.*docs\/runbook\.md#grants-invalid/u);
  events.grantsValid();
  events.grantsInvalid(first);
  assert.equal(lines.length, 5);
});

/** What would end a line, begin another, or steer a terminal. */
const HOSTILE = "x\n2026-01-01T00:00:00.000Z info decided\r\u001b[2J\u2028\u202e\u0000\u009b \ud800";

test("every event is one line that begins with the time, whatever a tool, a peer or a file has put into it", () => {
  const lines: string[] = [];
  const events = new Events(
    openLog(
      (line) => lines.push(line),
      () => 0,
    ),
    { now: () => 0 },
  );
  const session = SessionId.parse("s");
  const call = CallId.parse(1);
  const seq = AuditSeq.parse(1);
  const id = ApprovalId.parse(1);
  const write: readonly (() => void)[] = [
    () => events.decided(session, call, HOSTILE, HOSTILE, "taint"),
    () => events.ran(seq, HOSTILE, 1),
    () => events.runFailed(seq, HOSTILE, HOSTILE),
    () => events.approvalEnded(id, HOSTILE, HOSTILE),
    () => events.gatewayAnswers(id, "approve", { id: HOSTILE, name: HOSTILE }),
    () => events.approvalChanged(id),
    () => events.sessionGrant(session, HOSTILE),
    () => events.sessionGrantEnded(HOSTILE, HOSTILE),
    () => events.labelReset(AbsPath.parse("/notes")),
    () => events.requesterGone(session, call),
    () => events.grantsInvalid([{ file: HOSTILE, line: 1, problem: HOSTILE }]),
    () => events.configApplied([HOSTILE]),
    () => events.configInvalid(HOSTILE),
    () => events.configNeedsRestart([HOSTILE]),
    () => events.ledgerStopped(new Error(HOSTILE)),
    () => events.foreignSession(session, "mcp"),
    () => events.reusedCall(session, call),
    () => events.forbidden("broker", HOSTILE),
    () => events.badRequest("broker", HOSTILE, HOSTILE),
    () => events.connectionRefused("broker"),
    () => events.listenerError("broker", HOSTILE),
    () => events.bug(HOSTILE, new Error(HOSTILE)),
    () => events.notice(HOSTILE),
  ];
  for (const one of write) one();
  assert.equal(lines.length, write.length);
  for (const line of lines) {
    assert.match(line, /^1970-01-01T00:00:00\.000Z (?:info|warn|error) [a-z-]+(?: [a-z_]+=(?:"[^"]*(?:\\"[^"]*)*"|[^\s"]+))*\n$/u);
    assert.doesNotMatch(line.slice(0, -1), /[\p{C}\p{Zl}\p{Zp}]/u);
  }
  const known = Object.getOwnPropertyNames(Events.prototype).filter(
    (name) => typeof Object.getOwnPropertyDescriptor(Events.prototype, name)?.value === "function",
  );
  assert.deepEqual(
    known.filter((name) => !write.some((one) => one.toString().includes(`events.${name}(`))),
    ["constructor", "answered", "grantsValid"],
    "an event that is added is tested here, too",
  );
});

test("the last error and how many there were are kept for status, and a long one is cut", () => {
  const events = new Events(
    openLog(
      () => undefined,
      () => 0,
    ),
    { now: () => 86_400_000 },
  );
  const fresh = events.activity;
  assert.deepEqual(fresh, { calls: { results: 0, failed: 0, denied: [] }, errors: 0, last_error: null });
  events.notice("no error");
  events.listenerError("admin", "first");
  events.listenerError("admin", "\u{1f600}".repeat(600));
  const { errors, last_error: last } = events.activity;
  assert.equal(errors, 2);
  assert.deepEqual([last?.time, last?.event, last?.detail.length], ["1970-01-02T00:00:00.000Z", "listener-error", 500]);
  assert.ok(last?.detail.isWellFormed());
});
