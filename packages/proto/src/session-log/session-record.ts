/** The lines of a session's log, from which loopd rebuilds each request byte for byte. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { CallId, SafeInteger } from "../ids/integers.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { DataClass } from "../policy/data-class.ts";
import { Origin } from "../policy/origin.ts";
import { Usage } from "../wire/loop-messages.ts";

function record<K extends string, S extends z.core.$ZodLooseShape>(
  kind: K,
  fields: S,
): z.ZodReadonly<z.ZodObject<{ kind: z.ZodLiteral<K> } & S, z.core.$strict>> {
  return z.strictObject({ kind: z.literal(kind), ...fields }).readonly();
}

/** A tool call as the model made it: `id` is the server's (or made up where it gave none), `arguments` its JSON text. */
export const ModelToolCall = z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() }).readonly();
export type ModelToolCall = z.infer<typeof ModelToolCall>;

/**
 * Always the first line. `origin` is the kind of socket it came from; `slot` is null for servers without slots; `baseline` is the
 * hash of the epoch's baseline file.
 */
export const SessionStart = record("session_start", {
  version: SafeInteger,
  time: Timestamp,
  epoch: SafeInteger,
  origin: Origin,
  slot: SafeInteger.nullable(),
  baseline: Hash32,
});
export const UserRecord = record("user", { time: Timestamp, text: z.string() });
/** `thinking_capped`: its thinking was ended from outside, so the server reads this reply again, which is no cache loss. */
export const AssistantRecord = record("assistant", {
  content: z.string(),
  reasoning: z.string(),
  thinking_capped: z.boolean(),
  tool_calls: z.array(ModelToolCall).readonly(),
});
/** A call number is written before the call is sent, so that it is never used again whatever happens next. */
export const CallSent = record("call_sent", { call: CallId, id: z.string(), tool: z.string() });
/** `call` is null for the tools that loopd answers itself. `class` and `untrusted` are null where nothing was released. */
export const ToolResultRecord = record("tool_result", {
  call: CallId.nullable(),
  id: z.string(),
  tool: z.string(),
  content: z.string(),
  class: DataClass.nullable(),
  untrusted: z.boolean().nullable(),
  truncated: z.boolean(),
});
export const UsageRecord = record("usage", { usage: Usage });
export const CacheLossRecord = record("cache_loss", { expected: SafeInteger, cached: SafeInteger });
/** The turn ended without an answer: why, in one fixed or escaped line. */
export const CancelledRecord = record("cancelled", { reason: z.string() });

/**
 * Always the last line of an epoch that has ended. `carry` says what the next one begins with besides the summary: the records of the
 * last turn, which goes on there; that turn's message alone, where the summary has the rest; or nothing, between two turns. `shortened`
 * is the length in bytes that each text was cut to when the model was asked, null where it was asked with the whole conversation.
 */
export const EpochEnd = record("epoch_end", {
  carry: z.enum(["turn", "message", "nothing"]),
  shortened: SafeInteger.nullable(),
  summary: z.string(),
  usage: Usage,
});
export type EpochEnd = z.infer<typeof EpochEnd>;

export const SessionRecord = z.discriminatedUnion("kind", [
  SessionStart,
  UserRecord,
  AssistantRecord,
  CallSent,
  ToolResultRecord,
  UsageRecord,
  CacheLossRecord,
  CancelledRecord,
  EpochEnd,
]);
export type SessionRecord = z.infer<typeof SessionRecord>;

/**
 * The fixed beginning of every request of an epoch. `memory` says whether the owner's core memory is in it; `tools` is the JSON text of
 * the tool array, kept as text to stay byte-identical.
 */
export const Baseline = z
  .strictObject({ version: SafeInteger, memory: z.boolean(), system: z.string(), tools: z.string() })
  .readonly();
export type Baseline = z.infer<typeof Baseline>;
