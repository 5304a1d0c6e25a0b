/** Everything that the roles share: pure types, parsers and encodings. Names are listed one by one, so that growth shows. */
export {
  type Acceptance,
  type AuditChainOptions,
  type ChainEnd,
  LineChain,
  type OnRecord,
  type ReadLine,
} from "./audit/audit-chain.ts";
export {
  AcceptedBreak,
  AcceptedLoss,
  ApprovalAuditEvent,
  AuditEvent,
  AuditRecord,
  BlobRef,
  DecisionEvent,
  MAX_INLINE_BYTES,
  RecordedArguments,
  Recovery,
} from "./audit/audit-event.ts";
export {
  type AcceptedBreakNote,
  type AcceptedLossNote,
  AuditTally,
  type ClockStep,
  type Listed,
  type MisnamedFile,
  type RecoveryNote,
  type TallyLists,
  type TallyPart,
} from "./audit/audit-tally.ts";
export { type ChainBreak, type ChainHead, phraseBreak } from "./audit/chain-break.ts";
export { dayOf } from "./audit/day-of.ts";
export { LineSplitter, type LogLine } from "./audit/line-splitter.ts";
export { DayFileName, type DirectoryEntry, dayFileOf, type LogFile, type LogListing, listLog } from "./audit/log-files.ts";
export { type LogSource, readLog } from "./audit/read-log.ts";
export { AuditChain } from "./audit/record-chain.ts";
export { encodeRecordLine, type RecordFields, readRecordLine } from "./audit/record-line.ts";
export { RECORD_PATTERN } from "./audit/record-pattern.ts";
export { MAX_RECORD_BYTES } from "./audit/record-size.ts";
export { readTalliedLine } from "./audit/tallied-line.ts";
export type { TalliedRecord } from "./audit/tallied-record.ts";
export { describesLine, type LinePlace, recoveryOf, type TornLine } from "./audit/torn-line.ts";
export { findActingAnnotation } from "./box/acting-annotation.ts";
export { BoxDone, BoxRun } from "./box/box-messages.ts";
export { encodeFrame, FrameDecoder, type FrameEnd, type FrameStep, MAX_FRAME } from "./frame/frame.ts";
export { Hash32 } from "./ids/hash32.ts";
export { ApprovalId, AuditSeq, auditSeqAfter, CallId, parseApprovalId, SafeInteger } from "./ids/integers.ts";
export { SessionId } from "./ids/session-id.ts";
export { sha256, ZERO_HASH } from "./ids/sha256.ts";
export { millisFromTimestamp, Timestamp, timestampFromMillis } from "./ids/timestamp.ts";
export { canonicalJson } from "./json/canonical-json.ts";
export { type Parsed, parseJson, parseJsonBytes, parseShape } from "./json/parse-shape.ts";
export { readForeignJson } from "./json/read-foreign-json.ts";
export { decodeUtf8, type JsonReading, MAX_JSON_DEPTH, MAX_JSON_VALUES, readJson, readJsonBytes } from "./json/read-json.ts";
export { DATA_CLASSES, DataClass, isAbove, joinClass, joinLabel, Label } from "./policy/data-class.ts";
export { Origin, RewindPoint } from "./policy/origin.ts";
export { carriedRecords } from "./session-log/carried-records.ts";
export { Baseline, EpochEnd, ModelToolCall, SessionRecord } from "./session-log/session-record.ts";
export { escapeLayoutText, escapeText, quoteText } from "./text/escape-text.ts";
export { unreachable } from "./text/unreachable.ts";
export { AbsPath, holdsPath, isProperParent } from "./tools/abs-path.ts";
export { FetchUrl, hostOfUrl } from "./tools/fetch-url.ts";
export { hostOfFetchUrl } from "./tools/fetch-url-grammar.ts";
export { Host, HostPattern, matchesHost } from "./tools/host.ts";
export { isHostName, isHostNamePattern, matchesHostName } from "./tools/host-grammar.ts";
export { MAX_ARGUMENTS, parseToolCall, RequestedTool, TOOL_ARGUMENTS, ToolCall, ToolName } from "./tools/tool-call.ts";
export {
  AdminAnswer,
  AdminRequest,
  ApprovalSummary,
  ApproveOutcome,
  AskBlock,
  GrantProblem,
  MatchedGrant,
  SessionGrantEnd,
  type StatusReport,
} from "./wire/admin-messages.ts";
export { AnyRequest } from "./wire/any-request.ts";
export { ApprovalAnswer, ApprovalRequest, GatewayUser } from "./wire/approval-messages.ts";
export { BrokerAnswer, BrokerRequest, ToolOutcome } from "./wire/broker-messages.ts";
export { DENIAL_SENTENCES, DenialReason } from "./wire/denial-reason.ts";
export { type AnyMessage, type Decoded, decodeMessage, type Envelope, encodeMessage, WIRE_VERSION } from "./wire/envelope.ts";
export { ErrorCode, ErrorMessage } from "./wire/error-message.ts";
export { type ExplainedMatch, type ExplainedMisfit, Explanation, PathLabel, RaisedBy, type Remedy } from "./wire/explanation.ts";
export { LoopAnswer, LoopRequest, SessionSummary, TurnEvent, Usage } from "./wire/loop-messages.ts";
export { Mount, RunPlan, RuntimeName } from "./wire/run-plan.ts";
