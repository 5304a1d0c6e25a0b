/** Why a call gets what it gets: the answer to `explain`, and what `bxctl why` says of a decision on record. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { AuditSeq, CallId, SafeInteger } from "../ids/integers.ts";
import { DataClass, Label } from "../policy/data-class.ts";
import { Origin } from "../policy/origin.ts";
import { AbsPath } from "../tools/abs-path.ts";
import { DenialReason } from "./denial-reason.ts";
import { message } from "./message.ts";

const Effect = z.enum(["auto", "ask", "deny"]);
const Approver = z.enum(["bxctl", "gateway"]);

/** A path and what its content may hold. */
export const PathLabel = z.strictObject({ path: AbsPath, label: Label }).readonly();
export type PathLabel = z.infer<typeof PathLabel>;

/** One call that raised a session's state, to `after`. */
export const RaisedBy = z.strictObject({ decision: AuditSeq, call: CallId, tool: z.string(), after: Label }).readonly();
export type RaisedBy = z.infer<typeof RaisedBy>;

/** Where a grant stands: `line`, from 1, is that of the field that matters, or of its id where the file leaves that field out. */
const place = { grant: z.string(), file: z.string(), line: SafeInteger, sha256: Hash32 };

/** A grant that speaks about the call, and the field that its effect comes from. `is_default`: its file leaves that field out. */
const ExplainedMatch = z
  .strictObject({
    ...place,
    mode: Effect,
    effect: Effect,
    because: z.enum(["mode", "if_untrusted", "max_taint", "uses", "expires"]),
    is_default: z.boolean(),
  })
  .readonly();
export type ExplainedMatch = z.infer<typeof ExplainedMatch>;

/** A grant of the tool that doesn't speak about the call: the first thing that doesn't fit, of `args` the `argument`. */
const ExplainedMisfit = z
  .strictObject({ ...place, fails: z.enum(["session", "origins", "paths", "hosts", "args"]), argument: z.string().nullable() })
  .readonly();
export type ExplainedMisfit = z.infer<typeof ExplainedMisfit>;

/** One thing that would get the call more, by itself; `gives` is what it would get. */
const gives = { gives: z.enum(["allowed", "ask"]) };
const Remedy = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("approval"), approvers: z.array(Approver).readonly(), ...gives }).readonly(),
  z.strictObject({ kind: z.literal("new_session"), ...gives }).readonly(),
  z.strictObject({ kind: z.literal("state"), state: Label, ...gives }).readonly(),
  z.strictObject({ kind: z.literal("origin"), origin: Origin, ...gives }).readonly(),
  z.strictObject({ kind: z.literal("ceiling"), ceiling: DataClass, ...gives }).readonly(),
  z.strictObject({ kind: z.literal("more_uses"), grant: z.string(), ...gives }).readonly(),
  z.strictObject({ kind: z.literal("later_expiry"), grant: z.string(), ...gives }).readonly(),
  z.strictObject({ kind: z.literal("remove_restriction"), grant: z.string(), ...gives }).readonly(),
]);
export type Remedy = z.infer<typeof Remedy>;

/**
 * `problem`: why the arguments don't fit the tool. `label` is that of the results. `path_labels` are those that the call would read.
 * `unmatched` are the first of them, and `unmatched_more` how many were left out. `otherwise` is what tools.toml says for calls that no
 * grant permits, which `grant` may switch off. `would_pass` is empty where only another grant would help.
 */
export const Explanation = message("explanation", {
  outcome: z.enum(["allowed", "ask", "denied"]),
  reason: DenialReason.nullable(),
  problem: z.string().nullable(),
  grant: z.string().nullable(),
  label: Label.nullable(),
  origin: Origin,
  ceiling: DataClass,
  before: Label,
  after: Label.nullable(),
  raised_by: z.array(RaisedBy).readonly(),
  path_labels: z.array(PathLabel).readonly(),
  approvers: z.array(Approver).readonly(),
  matched: z.array(ExplainedMatch).readonly(),
  unmatched: z.array(ExplainedMisfit).readonly(),
  unmatched_more: SafeInteger,
  otherwise: z
    .strictObject({
      effect: Effect,
      because: z.enum(["otherwise", "if_untrusted", "max_taint", "grant"]),
      grant: z.string().nullable(),
    })
    .readonly()
    .nullable(),
  would_pass: z.array(Remedy).readonly(),
});
export type Explanation = z.infer<typeof Explanation>;
