/** loop.sock: a client talks with a session. */
import { z } from "zod";
import { ApprovalId, CallId, SafeInteger } from "../ids/integers.ts";
import { SessionId } from "../ids/session-id.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { DataClass } from "../policy/data-class.ts";
import { DenialReason } from "./denial-reason.ts";
import { ErrorMessage } from "./error-message.ts";
import { message } from "./message.ts";

/** One user message. `resume` says whether the session must exist (true) or must not (false). */
export const Turn = message("turn", { session: SessionId, resume: z.boolean(), text: z.string() });
/** Ends the running turn at its next safe point. */
export const Cancel = message("cancel", { session: SessionId });
export const Sessions = message("sessions", {});
/** Asks where the first `turn` turns of a session end. */
export const RewindPointRequest = message("rewind_point", { session: SessionId, turn: SafeInteger });
/** Starts session `to` with exactly the first `turn` turns of this one. `call` is the last call of these, as {@link RewindPointReport} says. */
export const Rewind = message("rewind", { session: SessionId, turn: SafeInteger, call: CallId, to: SessionId });
export const Compact = message("compact", { session: SessionId });

export const LoopRequest = z.discriminatedUnion("kind", [Turn, Cancel, Sessions, RewindPointRequest, Rewind, Compact]);
export type LoopRequest = z.infer<typeof LoopRequest>;

function event<K extends string, S extends z.core.$ZodLooseShape>(
  name: K,
  fields: S,
): z.ZodReadonly<z.ZodObject<{ event: z.ZodLiteral<K> } & S, z.core.$strict>> {
  return z.strictObject({ event: z.literal(name), ...fields }).readonly();
}

/** What happens during a turn. `tool` is always the target tool, as the model named it. */
export const TurnEvent = z.discriminatedUnion("event", [
  event("queued", { ahead: SafeInteger }),
  event("waiting", { slot_busy: z.boolean() }),
  event("progress", { done: SafeInteger, total: SafeInteger }),
  event("reasoning", { text: z.string() }),
  event("thinking_capped", {}),
  event("text", { text: z.string() }),
  event("discarded", {}),
  event("retrying", { attempt: SafeInteger, after_ms: SafeInteger, error: z.string() }),
  event("tool_call", { tool: z.string() }),
  event("approval_pending", { approval: ApprovalId, tool: z.string(), expires: Timestamp }),
  event("tool_denied", { tool: z.string(), reason: DenialReason }),
  event("tool_failed", { tool: z.string(), message: z.string() }),
  event("tool_result", { tool: z.string(), class: DataClass, truncated: z.boolean() }),
  event("taint", { from: DataClass, to: DataClass, untrusted: z.boolean(), tool: z.string() }),
  event("cache_loss", { expected: SafeInteger, cached: SafeInteger }),
  event("epoch", { number: SafeInteger }),
]);
export type TurnEvent = z.infer<typeof TurnEvent>;

/** Tokens of a turn, over all its requests. `cached` is null where the server doesn't say. */
export const Usage = z.strictObject({ prompt: SafeInteger, completion: SafeInteger, cached: SafeInteger.nullable() }).readonly();
export type Usage = z.infer<typeof Usage>;

export const TurnEventMessage = z.strictObject({ kind: z.literal("turn_event"), body: TurnEvent }).readonly();
export const TurnDone = message("turn_done", { content: z.string(), usage: Usage });
export const LoopOk = message("ok", {});

export const SessionSummary = z
  .strictObject({ session: SessionId, turns: SafeInteger, busy: z.boolean(), updated: Timestamp })
  .readonly();
export type SessionSummary = z.infer<typeof SessionSummary>;
export const SessionList = message("session_list", { sessions: z.array(SessionSummary).readonly() });
/** How many turns the session has, and the last call that its first `turn` turns made (0: none). */
export const RewindPointReport = message("rewind_point_report", {
  session: SessionId,
  turn: SafeInteger,
  turns: SafeInteger,
  call: CallId,
});
/** The answer to `rewind`: the new session. */
export const SessionStarted = message("session_started", { session: SessionId });

export const LoopAnswer = z.discriminatedUnion("kind", [
  TurnEventMessage,
  TurnDone,
  LoopOk,
  SessionList,
  RewindPointReport,
  SessionStarted,
  ErrorMessage,
]);
export type LoopAnswer = z.infer<typeof LoopAnswer>;
