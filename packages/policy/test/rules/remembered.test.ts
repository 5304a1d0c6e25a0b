import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_USES, WORST, writtenBy } from "@boxmaker/policy";
import { AbsPath, CallId, type DecisionEvent, type RunPlan, SessionId, Timestamp, ZERO_HASH } from "@boxmaker/proto";

const LABEL = { taint: "public", untrusted: false } as const;
const RUN: RunPlan = {
  runtime: "bubblewrap",
  image: null,
  mounts: [
    { path: AbsPath.parse("/srv/notes"), writable: true },
    { path: AbsPath.parse("/srv/books"), writable: false },
    { path: AbsPath.parse("/srv/work"), writable: true },
  ],
  masked: [],
  exposed: [],
  host_exec: false,
  hosts: [],
};

function decisionOf(tool: string, values: Readonly<Record<string, string>>): DecisionEvent {
  return {
    kind: "decision",
    session: SessionId.parse("s"),
    call: CallId.parse(1),
    tool,
    arguments: { form: "typed", values },
    now: Timestamp.parse("2026-01-05T08:00:00.000Z"),
    policy_version: 1,
    before: LABEL,
    path_labels: [],
    uses_left: [],
    matched: [],
    outcome: "allowed",
    reason: null,
    grant: null,
    grant_sha256: null,
    label: LABEL,
    raises: LABEL,
    spends: null,
    run: RUN,
  };
}

test("what isn't known counts as secret, untrusted and spent", () => {
  assert.deepEqual([WORST, ALL_USES], [{ taint: "secret", untrusted: true }, Number.MAX_SAFE_INTEGER]);
});

test("writtenBy() is the file of write_file, and every writable mount of anything else", () => {
  assert.deepEqual(writtenBy(decisionOf("write_file", { path: "/srv/notes/a" }), RUN), ["/srv/notes/a"]);
  for (const tool of ["shell", "read_file"]) {
    assert.deepEqual(writtenBy(decisionOf(tool, { path: "/srv/notes/a" }), RUN), ["/srv/notes", "/srv/work"]);
  }
});

test("writtenBy() is every writable mount where the record doesn't say which file was written", () => {
  assert.deepEqual(writtenBy(decisionOf("write_file", {}), RUN), ["/srv/notes", "/srv/work"]);
  const { arguments: _, ...rest } = decisionOf("write_file", {});
  const unread: DecisionEvent = { ...rest, arguments: { form: "unread", text: { sha256: ZERO_HASH, bytes: 2 } } };
  assert.deepEqual(writtenBy(unread, RUN), ["/srv/notes", "/srv/work"]);
});
