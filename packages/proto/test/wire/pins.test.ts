/** What peers, logs and models rely on by its letters, frozen here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as proto from "../../src/index.ts";

const EXPORTS: readonly string[] = [
  "AbsPath",
  "AcceptedBreak",
  "AcceptedLoss",
  "AdminAnswer",
  "AdminRequest",
  "AnyRequest",
  "ApprovalAnswer",
  "ApprovalAuditEvent",
  "ApprovalId",
  "ApprovalRequest",
  "ApprovalSummary",
  "ApproveOutcome",
  "AskBlock",
  "AuditChain",
  "AuditEvent",
  "AuditRecord",
  "AuditSeq",
  "AuditTally",
  "Baseline",
  "BlobRef",
  "BoxDone",
  "BoxRun",
  "BrokerAnswer",
  "BrokerRequest",
  "CallId",
  "DATA_CLASSES",
  "DENIAL_SENTENCES",
  "DataClass",
  "DayFileName",
  "DecisionEvent",
  "DenialReason",
  "EpochEnd",
  "ErrorCode",
  "ErrorMessage",
  "Explanation",
  "FetchUrl",
  "FrameDecoder",
  "GatewayUser",
  "GrantProblem",
  "Hash32",
  "Host",
  "HostPattern",
  "Label",
  "LineChain",
  "LineSplitter",
  "LoopAnswer",
  "LoopRequest",
  "MAX_ARGUMENTS",
  "MAX_FRAME",
  "MAX_INLINE_BYTES",
  "MAX_JSON_DEPTH",
  "MAX_JSON_VALUES",
  "MAX_RECORD_BYTES",
  "MatchedGrant",
  "ModelToolCall",
  "Mount",
  "Origin",
  "PathLabel",
  "RECORD_PATTERN",
  "RaisedBy",
  "RecordedArguments",
  "Recovery",
  "RequestedTool",
  "RewindPoint",
  "RunPlan",
  "RuntimeName",
  "SafeInteger",
  "SessionGrantEnd",
  "SessionId",
  "SessionRecord",
  "SessionSummary",
  "TOOL_ARGUMENTS",
  "Timestamp",
  "ToolCall",
  "ToolName",
  "ToolOutcome",
  "TurnEvent",
  "Usage",
  "WIRE_VERSION",
  "ZERO_HASH",
  "auditSeqAfter",
  "canonicalJson",
  "carriedRecords",
  "dayFileOf",
  "dayOf",
  "decodeMessage",
  "decodeUtf8",
  "describesLine",
  "encodeFrame",
  "encodeMessage",
  "encodeRecordLine",
  "escapeLayoutText",
  "escapeText",
  "findActingAnnotation",
  "holdsPath",
  "hostOfFetchUrl",
  "hostOfUrl",
  "isAbove",
  "isHostName",
  "isHostNamePattern",
  "isProperParent",
  "joinClass",
  "joinLabel",
  "listLog",
  "matchesHost",
  "matchesHostName",
  "millisFromTimestamp",
  "parseApprovalId",
  "parseJson",
  "parseJsonBytes",
  "parseShape",
  "parseToolCall",
  "phraseBreak",
  "quoteText",
  "readForeignJson",
  "readJson",
  "readJsonBytes",
  "readLog",
  "readRecordLine",
  "readTalliedLine",
  "recoveryOf",
  "sha256",
  "timestampFromMillis",
  "unreachable",
];

test("the version of the wire contract is 1", () => {
  assert.equal(proto.WIRE_VERSION, 1);
});

test("the limits of the formats are what they were", () => {
  assert.deepEqual(
    [
      proto.MAX_FRAME,
      proto.MAX_JSON_DEPTH,
      proto.MAX_JSON_VALUES,
      proto.MAX_ARGUMENTS,
      proto.MAX_INLINE_BYTES,
      proto.MAX_RECORD_BYTES,
    ],
    [8_388_608, 64, 262_144, 1_048_576, 1024, 4_194_304],
  );
  assert.equal(proto.ZERO_HASH, "0000000000000000000000000000000000000000000000000000000000000000");
});

test("the error codes are what they were", () => {
  assert.deepEqual(proto.ErrorCode.options, [
    "bad_version",
    "bad_message",
    "bad_frame",
    "forbidden",
    "limit",
    "busy",
    "internal",
    "no_such_approval",
    "session_exists",
    "no_such_session",
    "no_such_turn",
    "session_busy",
    "session_full",
    "turn_limit",
    "inference",
    "cancelled",
  ]);
});

test("the denial reasons and the sentences that the model is told are what they were", () => {
  const sentences = {
    no_grant: "Denied: no grant of the owner allows this call.",
    invalid_arguments: "Denied: the arguments do not fit this tool.",
    grants_invalid: "Denied: the owner's grants cannot be read right now.",
    denied_by_grant: "Denied: a grant of the owner forbids this call.",
    expired: "Denied: the grant for this call has expired.",
    taint: "Denied: this conversation has seen data too confidential for this call.",
    untrusted: "Denied: this conversation has read text of strangers, and the grant does not allow this call after that.",
    uses_spent: "Denied: the grant for this call has been used up.",
    audience: "Denied: the result is too confidential for where this conversation takes place.",
    approval_refused: "Denied: the owner refused this call.",
    approval_expired: "Denied: the owner did not answer in time.",
    audit_unavailable: "Denied: the audit log cannot be written.",
    low_space: "Denied: the disk is almost full.",
    throttled: "Denied: too many requests.",
    no_sandbox: "Denied: this box has no sandbox that could run this tool.",
    requester_gone: "Denied: nobody was waiting for this call any more.",
    shutting_down: "Denied: the box is shutting down.",
  };
  assert.deepEqual(proto.DENIAL_SENTENCES, sentences);
  assert.deepEqual(proto.DenialReason.options, Object.keys(sentences));
  assert.ok(Object.isFrozen(proto.DENIAL_SENTENCES));
});

test("the closed sets of names are what they were", () => {
  assert.deepEqual(proto.DataClass.options, ["public", "private", "secret"]);
  assert.deepEqual(proto.Origin.options, ["terminal", "gateway", "mcp"]);
  assert.deepEqual(proto.RuntimeName.options, ["podman", "bubblewrap", "process", "refusing"]);
  assert.deepEqual(proto.ToolName.options, ["read_file", "write_file", "shell", "http_fetch"]);
  assert.deepEqual(Object.keys(proto.TOOL_ARGUMENTS), ["read_file", "write_file", "shell", "http_fetch"]);
});

test("the package exports these values and no others", () => {
  assert.deepEqual(Object.keys(proto).sort(), EXPORTS);
});
