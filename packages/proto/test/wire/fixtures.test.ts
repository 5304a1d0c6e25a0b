/** The bytes of every format, pinned. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AdminAnswer,
  AdminRequest,
  AnyRequest,
  ApprovalAnswer,
  ApprovalRequest,
  AuditEvent,
  BoxDone,
  BoxRun,
  BrokerAnswer,
  BrokerRequest,
  encodeFrame,
  LoopAnswer,
  LoopRequest,
  SessionRecord,
} from "../../src/index.ts";
import { FORMATS, loadFixtures, WIRE_FORMATS } from "../support/fixtures.ts";

const FIXTURES = loadFixtures();
const UNIONS = {
  LoopRequest,
  LoopAnswer,
  BrokerRequest,
  BrokerAnswer,
  AdminRequest,
  AdminAnswer,
  ApprovalRequest,
  ApprovalAnswer,
  BoxRun,
  BoxDone,
  SessionRecord,
};

/** What tells the members of each union apart, frozen here: each needs a fixture. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  LoopRequest: { kind: ["turn", "cancel", "sessions", "rewind_point", "rewind", "compact"] },
  LoopAnswer: {
    kind: ["turn_event", "turn_done", "ok", "session_list", "rewind_point_report", "session_started", "error"],
    "body.event": [
      "queued",
      "waiting",
      "progress",
      "reasoning",
      "thinking_capped",
      "text",
      "discarded",
      "retrying",
      "tool_call",
      "approval_pending",
      "tool_denied",
      "tool_failed",
      "tool_result",
      "taint",
      "cache_loss",
      "epoch",
    ],
  },
  BrokerRequest: { kind: ["tool_request"] },
  BrokerAnswer: { kind: ["tool_response", "pending_approval", "error"], "body.outcome": ["result", "failed", "denied"] },
  AdminRequest: {
    kind: [
      "approvals",
      "approval",
      "approve",
      "refuse",
      "check_grants",
      "explain",
      "session",
      "status",
      "watch",
      "allow",
      "open_rewound",
      "label_show",
      "label_reset",
    ],
  },
  AdminAnswer: {
    kind: [
      "approval_list",
      "approval_block",
      "approve_result",
      "ok",
      "grants_report",
      "explanation",
      "session_report",
      "status_report",
      "approval_event",
      "allowed",
      "allow_ended",
      "label_report",
      "error",
    ],
    "body.outcome": ["allowed", "ask", "denied", "changed"],
    "body.ask.request.tool": ["read_file", "write_file", "shell", "http_fetch"],
  },
  ApprovalRequest: { kind: ["asks", "ask", "approve_ask", "refuse_ask", "watch_asks"] },
  ApprovalAnswer: {
    kind: ["approval_list", "approval_block", "approve_result", "ok", "ask_event", "error"],
    "body.outcome": ["allowed", "ask", "denied", "changed"],
    "body.ask.request.tool": ["read_file", "write_file", "shell", "http_fetch"],
  },
  BoxRun: { kind: ["box_run"], "body.request.tool": ["read_file", "write_file", "shell", "http_fetch"] },
  BoxDone: { kind: ["box_done"], "body.status": ["ok", "failed"] },
  AuditRecord: {
    "event.kind": [
      "started",
      "session_opened",
      "decision",
      "approval",
      "result",
      "grants_changed",
      "session_grant",
      "session_grant_ended",
      "label_reset",
      "recovery",
      "accepted_break",
      "accepted_loss",
      "stopped",
    ],
    "event.outcome": ["allowed", "ask", "denied"],
    "event.answer": ["approved", "refused", "expired", "gone"],
    "event.arguments.form": ["typed", "unread"],
  },
  SessionRecord: {
    kind: ["session_start", "user", "assistant", "call_sent", "tool_result", "usage", "cache_loss", "cancelled", "epoch_end"],
    carry: ["turn", "message", "nothing"],
  },
  Baseline: {},
};

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, key) => {
    return typeof inner === "object" && inner !== null ? Object.entries(inner).find(([name]) => name === key)?.[1] : undefined;
  }, value);
}

/** Each place where `value` isn't frozen. */
function unfrozen(value: unknown, place: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.isFrozen(value) ? [] : [place];
  return [...own, ...Object.entries(value).flatMap(([key, inner]) => unfrozen(inner, `${place}.${key}`))];
}

for (const { name, text, read } of FIXTURES) {
  test(`fixtures/${name} is read, frozen at every depth, and written as the same bytes`, () => {
    const reading = read(Buffer.from(text));
    if (reading.kind === "refused") assert.fail(`${reading.outcome}: ${reading.detail}`);
    assert.equal(reading.again, text);
    assert.deepEqual(unfrozen(reading.value, "value"), []);
  });
}

test("every member of every union has a fixture, and no fixture is of a member that isn't pinned", () => {
  assert.deepEqual(Object.keys(MEMBERS).sort(), Object.keys(FORMATS).sort());
  for (const [format, places] of Object.entries(MEMBERS)) {
    const values = FIXTURES.filter((fixture) => fixture.format === format).map(({ text }): unknown => JSON.parse(text));
    assert.ok(values.length > 0, format);
    for (const [place, members] of Object.entries(places)) {
      const seen = new Set(values.map((value) => at(value, place)).filter((member) => typeof member === "string"));
      assert.deepEqual([...seen].sort(), [...members].sort(), `${format} ${place}`);
    }
  }
});

test("the schemas have exactly the pinned kinds", () => {
  const pinned = (format: string): readonly string[] => [...(MEMBERS[format]?.["kind"] ?? [])].sort();
  for (const [format, schema] of Object.entries(UNIONS)) {
    assert.deepEqual([...(schema._zod.propValues?.["kind"] ?? [])].map(String).sort(), pinned(format), format);
  }
  const requests = WIRE_FORMATS.filter((format) => format.endsWith("Request")).flatMap(pinned);
  assert.deepEqual([...(AnyRequest._zod.propValues?.["kind"] ?? [])].map(String).sort(), requests.sort());
  assert.deepEqual(
    [...(AuditEvent._zod.propValues?.["kind"] ?? [])].map(String).sort(),
    [...(MEMBERS["AuditRecord"]?.["event.kind"] ?? [])].sort(),
  );
});

test("encodeFrame() puts the length in four bytes, big-endian, in front", () => {
  const body = '{"v":1,"id":3,"final":true,"kind":"sessions","body":{}}';
  assert.deepEqual(encodeFrame(body), Buffer.concat([Buffer.from([0, 0, 0, 55]), Buffer.from(body)]));
  assert.equal(FIXTURES.find(({ name }) => name === "LoopRequest/sessions")?.text, body);
});
