/** The records of the audit log: what brokerd writes, bxctl verifies and anybody may read. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { ApprovalId, AuditSeq, CallId, SafeInteger } from "../ids/integers.ts";
import { SessionId } from "../ids/session-id.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { DataClass, Label } from "../policy/data-class.ts";
import { Origin, RewindPoint } from "../policy/origin.ts";
import { AbsPath } from "../tools/abs-path.ts";
import { MatchedGrant, SessionGrantEnd } from "../wire/admin-messages.ts";
import { DenialReason } from "../wire/denial-reason.ts";
import { PathLabel } from "../wire/explanation.ts";
import { RunPlan } from "../wire/run-plan.ts";

/** A long string is recorded by hash; its text is kept in `audit/blobs/<sha256>`. */
export const BlobRef = z.strictObject({ sha256: Hash32, bytes: SafeInteger }).readonly();
export type BlobRef = z.infer<typeof BlobRef>;

/** Strings of more UTF-8 bytes than this are recorded as a {@link BlobRef}. */
export const MAX_INLINE_BYTES = 1024;

/** A string as a record holds it: whole, or by hash where it is long. */
export const RecordedText = z.union([
  z.string().refine((text) => Buffer.byteLength(text) <= MAX_INLINE_BYTES, `expected at most ${MAX_INLINE_BYTES} bytes inline`),
  BlobRef.refine((ref) => ref.bytes > MAX_INLINE_BYTES, `expected at most ${MAX_INLINE_BYTES} bytes to be inline`),
]);

/** A path stays readable whatever its length: what a record is looked up by, and what labels are folded from. */
export const RecordedPath = z.string().refine((text) => AbsPath.safeParse(text).success, "expected an absolute path");

/**
 * The arguments of a decided call: typed, those that are absent left out as in the call itself, with long strings by hash. Of
 * arguments that didn't parse (or of an unknown tool), only size and hash of the text that came.
 */
export const RecordedArguments = z.discriminatedUnion("form", [
  z
    .strictObject({
      form: z.literal("typed"),
      values: z
        .strictObject({
          path: z.exactOptional(RecordedPath),
          content: z.exactOptional(RecordedText),
          command: z.exactOptional(RecordedText),
          cwd: z.exactOptional(RecordedPath),
          url: z.exactOptional(RecordedText),
        })
        .readonly(),
    })
    .readonly(),
  z.strictObject({ form: z.literal("unread"), text: BlobRef }).readonly(),
]);
export type RecordedArguments = z.infer<typeof RecordedArguments>;

function event<K extends string, S extends z.core.$ZodLooseShape>(
  kind: K,
  fields: S,
): z.ZodReadonly<z.ZodObject<{ kind: z.ZodLiteral<K> } & S, z.core.$strict>> {
  return z.strictObject({ kind: z.literal(kind), ...fields }).readonly();
}

/**
 * brokerd began: `head` is the seq of the last record before this one. `reserved` are the box's own places and those of its runtime, as
 * written and without links: no grant may name them, and no call comes to them.
 */
export const Started = event("started", {
  version: z.string(),
  config_sha256: Hash32,
  head: SafeInteger,
  reserved: z.array(AbsPath).readonly(),
});

/** First use of a session, with the state and ceiling it starts with. `from` is where a rewound session was cut off. */
export const SessionOpened = event("session_opened", {
  session: SessionId,
  origin: Origin,
  ceiling: DataClass,
  state: Label,
  from: RewindPoint.nullable(),
});

/**
 * One decision with its whole input, so that it can be taken again from the log and the grant files it names by hash. `raises` is the
 * session's state after dispatch (null where nothing runs now); `spends` the id of the grant whose use the call takes, which needn't be
 * the one that is named (null where nothing runs now, or no grant that permits it counts its uses).
 */
export const DecisionEvent = event("decision", {
  session: SessionId,
  call: CallId,
  tool: z.string(),
  arguments: RecordedArguments,
  now: Timestamp,
  policy_version: SafeInteger,
  before: Label,
  path_labels: z.array(PathLabel).readonly(),
  uses_left: z.array(z.strictObject({ grant: z.string(), left: SafeInteger }).readonly()).readonly(),
  matched: z.array(MatchedGrant).readonly(),
  outcome: z.enum(["allowed", "ask", "denied"]),
  reason: DenialReason.nullable(),
  grant: z.string().nullable(),
  grant_sha256: Hash32.nullable(),
  label: Label.nullable(),
  raises: Label.nullable(),
  spends: z.string().nullable(),
  run: RunPlan.nullable(),
});
export type DecisionEvent = z.infer<typeof DecisionEvent>;

/**
 * How an ask ended. `outcome` is the re-decision's, and `now` the time that it was taken at; null where there was none (refused, expired,
 * gone). What else it was taken from is in the decision and in the records between.
 */
export const ApprovalAuditEvent = event("approval", {
  decision: ApprovalId,
  answer: z.enum(["approved", "refused", "expired", "gone"]),
  by: z.enum(["bxctl", "gateway", "brokerd"]),
  user: z.string().nullable(),
  reason: z.string().nullable(),
  outcome: z.enum(["allowed", "ask", "denied", "changed"]).nullable(),
  denial: DenialReason.nullable(),
  digest: Hash32.nullable(),
  now: Timestamp.nullable(),
  grant: z.string().nullable(),
  grant_sha256: Hash32.nullable(),
  before: Label.nullable(),
  raises: Label.nullable(),
  spends: z.string().nullable(),
  run: RunPlan.nullable(),
});
export type ApprovalAuditEvent = z.infer<typeof ApprovalAuditEvent>;

/** What a call that ran came to; written before the content is released. */
export const ResultEvent = event("result", {
  decision: AuditSeq,
  session: SessionId,
  call: CallId,
  status: z.enum(["ok", "failed"]),
  sha256: Hash32,
  bytes: SafeInteger,
  truncated: z.boolean(),
  elapsed_ms: SafeInteger,
});

/** The grant files in force from here on, by id and hash; their texts are kept in `audit/grants/<sha256>`. */
export const GrantsChanged = event("grants_changed", {
  files: z.array(z.strictObject({ file: z.string(), sha256: Hash32 }).readonly()).readonly(),
});

/**
 * The owner has given a session a grant of its own, `grant`, in force until it is ended or brokerd starts again; its text is kept in
 * `audit/grants/<sha256>`.
 */
export const SessionGrant = event("session_grant", { session: SessionId, grant: z.string(), sha256: Hash32 });
export const SessionGrantEnded = event("session_grant_ended", { grant: z.string(), reason: SessionGrantEnd });

/**
 * The owner took back the labels of a path and of everything below it: `before` is all of them joined, `after` what the owner's own
 * labels say about the path.
 */
export const LabelResetEvent = event("label_reset", { path: AbsPath, before: Label, after: Label });

/** The torn last line of a file, which was ended in place: `sha256` is of its `bytes` bytes from `offset` on, without the newline. */
export const Recovery = event("recovery", { file: z.string(), offset: SafeInteger, bytes: SafeInteger, sha256: Hash32 });
export type Recovery = z.infer<typeof Recovery>;

/**
 * The owner had brokerd go on behind a break of the log. It pins that very break as the verifier phrases it, the last good record before
 * it, and the `lines` lines that nothing accounts for: `sha256` is of their hashes, in hexadecimal, each followed by a newline. Its own
 * `seq` is one more than the lines before it.
 */
export const AcceptedBreak = event("accepted_break", {
  file: z.string(),
  line: SafeInteger,
  offset: SafeInteger,
  expected: z.string(),
  found: z.string(),
  last_good: SafeInteger,
  last_good_sha256: Hash32,
  lines: SafeInteger,
  sha256: Hash32,
});
export type AcceptedBreak = z.infer<typeof AcceptedBreak>;

const TREE_ORIGIN = /^boxmaker\.local\/audit\/[0-9a-f]{32}$/u;

/**
 * The owner had brokerd go on with a log that isn't the one that its newest checkpoint signed: `size` records with this root were signed,
 * and `found` are there, those before this one. It begins a new tree.
 */
export const AcceptedLoss = event("accepted_loss", {
  origin: z.string().regex(TREE_ORIGIN, "expected the origin of an audit log's tree"),
  size: SafeInteger,
  root: Hash32,
  found: SafeInteger,
});
export type AcceptedLoss = z.infer<typeof AcceptedLoss>;

export const Stopped = event("stopped", {});

export const AuditEvent = z.discriminatedUnion("kind", [
  Started,
  SessionOpened,
  DecisionEvent,
  ApprovalAuditEvent,
  ResultEvent,
  GrantsChanged,
  SessionGrant,
  SessionGrantEnded,
  LabelResetEvent,
  Recovery,
  AcceptedBreak,
  AcceptedLoss,
  Stopped,
]);
export type AuditEvent = z.infer<typeof AuditEvent>;

/** One line of the log. `prev` is the SHA-256 of the whole line before it, without its newline. */
export const AuditRecord = z.strictObject({ seq: AuditSeq, time: Timestamp, prev: Hash32, event: AuditEvent }).readonly();
export type AuditRecord = z.infer<typeof AuditRecord>;
