/** admin.sock: the owner asks brokerd and answers its questions. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { ApprovalId, CallId, SafeInteger } from "../ids/integers.ts";
import { SessionId } from "../ids/session-id.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { DataClass, Label } from "../policy/data-class.ts";
import { Origin, RewindPoint } from "../policy/origin.ts";
import { AbsPath } from "../tools/abs-path.ts";
import { RequestedTool, ToolCall, ToolName } from "../tools/tool-call.ts";
import { DenialReason } from "./denial-reason.ts";
import { ErrorMessage } from "./error-message.ts";
import { Explanation, PathLabel, RaisedBy } from "./explanation.ts";
import { message } from "./message.ts";
import { RunPlan, RuntimeName } from "./run-plan.ts";

export const Approvals = message("approvals", {});
export const Approval = message("approval", { approval: ApprovalId });
/** `digest` is that of the block the owner was shown. */
export const Approve = message("approve", { approval: ApprovalId, digest: Hash32 });
export const Refuse = message("refuse", { approval: ApprovalId, reason: z.string().max(1000).nullable() });
export const CheckGrants = message("check_grants", {});
/** `state` null: the session's own (a new session's where it doesn't exist). */
export const Explain = message("explain", {
  session: SessionId.nullable(),
  state: Label.nullable(),
  tool: RequestedTool,
  arguments: z.string(),
});
export const Session = message("session", { session: SessionId });
/**
 * A grant for one session, for as long as this connection stays open. `scope` is a path, for http_fetch a host pattern; `uses` null: as
 * often as it likes meanwhile.
 */
export const Allow = message("allow", {
  session: SessionId,
  tool: ToolName,
  scope: z.string().max(4096),
  uses: SafeInteger.min(1).nullable(),
});
/** Opens session `to` with the state that `session` had when it had made its calls up to `call`, the last one of its first `turn` turns. */
export const OpenRewound = message("open_rewound", { session: SessionId, turn: SafeInteger, call: CallId, to: SessionId });
export const LabelShow = message("label_show", { path: AbsPath });
/** Takes back what boxes left on the path and on everything below it. */
export const LabelReset = message("label_reset", { path: AbsPath });
export const Status = message("status", {});
export const Watch = message("watch", {});

export const AdminRequest = z.discriminatedUnion("kind", [
  Approvals,
  Approval,
  Approve,
  Refuse,
  CheckGrants,
  Explain,
  Session,
  Status,
  Watch,
  Allow,
  OpenRewound,
  LabelShow,
  LabelReset,
]);
export type AdminRequest = z.infer<typeof AdminRequest>;

/** One waiting ask, without its content. `bytes` is the size of its canonical arguments. */
export const ApprovalSummary = z
  .strictObject({ approval: ApprovalId, session: SessionId, tool: ToolName, bytes: SafeInteger, expires: Timestamp })
  .readonly();
export type ApprovalSummary = z.infer<typeof ApprovalSummary>;
export const ApprovalList = message("approval_list", { approvals: z.array(ApprovalSummary).readonly() });

/**
 * The whole of a waiting call, never shortened: everything that gives it its effect. `digest` is the SHA-256 of the canonical JSON
 * of `ask` without its `approval`.
 */
export const AskBlock = z
  .strictObject({
    approval: ApprovalId,
    session: SessionId,
    call: CallId,
    request: ToolCall,
    grant: z.string(),
    grant_file: z.string(),
    grant_sha256: Hash32,
    run: RunPlan,
    label: Label,
    before: Label,
    after: Label,
  })
  .readonly();
export type AskBlock = z.infer<typeof AskBlock>;
export const ApprovalBlock = message("approval_block", { ask: AskBlock, digest: Hash32, expires: Timestamp });

/** What the re-decision at the moment of approval came to. `allowed` and `ask` both run. */
export const ApproveOutcome = z.discriminatedUnion("outcome", [
  z.strictObject({ outcome: z.literal("allowed") }).readonly(),
  z.strictObject({ outcome: z.literal("ask") }).readonly(),
  z.strictObject({ outcome: z.literal("denied"), reason: DenialReason }).readonly(),
  z.strictObject({ outcome: z.literal("changed") }).readonly(),
]);
export type ApproveOutcome = z.infer<typeof ApproveOutcome>;
export const ApproveResult = z.strictObject({ kind: z.literal("approve_result"), body: ApproveOutcome }).readonly();
export const AdminOk = message("ok", {});

/** One fault of a grants directory: the escaped path of the `file` (or of the directory itself) and the `line`, from 1. */
export const GrantProblem = z.strictObject({ file: z.string(), line: SafeInteger, problem: z.string() }).readonly();
export type GrantProblem = z.infer<typeof GrantProblem>;
export const GrantsReport = message("grants_report", { grants: SafeInteger, problems: z.array(GrantProblem).readonly() });

export const MatchedGrant = z
  .strictObject({ grant: z.string(), sha256: Hash32, effect: z.enum(["auto", "ask", "deny"]) })
  .readonly();
export type MatchedGrant = z.infer<typeof MatchedGrant>;

/** `from`: where a rewound session was cut off; its `raised_by` begins with what it took over. `grants` are those of `allow`, in force. */
export const SessionReport = message("session_report", {
  session: SessionId,
  origin: Origin,
  ceiling: DataClass,
  state: Label,
  from: RewindPoint.nullable(),
  raised_by: z.array(RaisedBy).readonly(),
  grants: z.array(z.strictObject({ grant: z.string(), text: z.string() }).readonly()).readonly(),
});

/** Not final: the grant is in force. `text` is all that it says. */
export const Allowed = message("allowed", { grant: z.string(), text: z.string(), expires: Timestamp });
/** Why a grant of `allow` ended. */
export const SessionGrantEnd = z.enum(["closed", "spent", "expired", "stopped", "invalid"]);
export type SessionGrantEnd = z.infer<typeof SessionGrantEnd>;
export const AllowEnded = message("allow_ended", { grant: z.string(), reason: SessionGrantEnd });

/**
 * What boxes left on a path: on itself (`label`), on its parents, which hold for it too, and below it (the first of them, and how many
 * `more`). `owner` is what the owner says about it.
 */
export const LabelReport = message("label_report", {
  path: AbsPath,
  label: Label.nullable(),
  above: z.array(PathLabel).readonly(),
  below: z.array(PathLabel).readonly(),
  more: SafeInteger,
  owner: Label.nullable(),
});

/**
 * What brokerd is doing and has done. `uptime_ms`, `calls`, `errors` and `last_error` are since its start; `denied` has the reasons that there
 * were. `sessions` is how many the log knows, `boxes` how many run now, `pending` how many asks wait. `memory_bytes` is its resident memory.
 */
export const StatusReport = message("status_report", {
  version: z.string(),
  started: Timestamp,
  uptime_ms: SafeInteger,
  head: SafeInteger,
  pending: SafeInteger,
  sessions: SafeInteger,
  boxes: SafeInteger,
  connections: SafeInteger,
  memory_bytes: SafeInteger,
  runtime: RuntimeName,
  grants: SafeInteger,
  grants_valid: z.boolean(),
  audit: z.enum(["open", "stopped"]),
  low_space: z.boolean(),
  calls: z
    .strictObject({
      results: SafeInteger,
      failed: SafeInteger,
      denied: z.array(z.strictObject({ reason: DenialReason, count: SafeInteger }).readonly()).readonly(),
    })
    .readonly(),
  errors: SafeInteger,
  last_error: z.strictObject({ time: Timestamp, event: z.string(), detail: z.string() }).readonly().nullable(),
});
export type StatusReport = z.infer<typeof StatusReport>;
/** A line of `watch`: an ask appeared, or was answered or taken back. */
export const ApprovalEvent = message("approval_event", {
  approval: ApprovalId,
  change: z.enum(["pending", "approved", "refused", "expired", "gone"]),
});

export const AdminAnswer = z.discriminatedUnion("kind", [
  ApprovalList,
  ApprovalBlock,
  ApproveResult,
  AdminOk,
  GrantsReport,
  Explanation,
  SessionReport,
  StatusReport,
  ApprovalEvent,
  Allowed,
  AllowEnded,
  LabelReport,
  ErrorMessage,
]);
export type AdminAnswer = z.infer<typeof AdminAnswer>;
