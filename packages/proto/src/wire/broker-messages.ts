/** broker.sock: loopd (or an MCP front) asks for one tool call. */
import { z } from "zod";
import { ApprovalId, CallId } from "../ids/integers.ts";
import { SessionId } from "../ids/session-id.ts";
import { Timestamp } from "../ids/timestamp.ts";
import { DataClass } from "../policy/data-class.ts";
import { RequestedTool } from "../tools/tool-call.ts";
import { DenialReason } from "./denial-reason.ts";
import { ErrorMessage } from "./error-message.ts";
import { message } from "./message.ts";

/**
 * `turn` is the number of the first call of the same turn: after two refusals in a turn the rest of its asks are denied, and brokerd knows
 * turns by this alone. `arguments` is the JSON text as the model wrote it, so that brokerd alone reads it, and what the strict reader refuses (a
 * fraction, a duplicate key) is a denial that is recorded and not an unreadable frame.
 */
export const ToolRequest = message("tool_request", {
  session: SessionId,
  call: CallId,
  turn: CallId,
  tool: RequestedTool,
  arguments: z.string(),
});
export type ToolRequest = z.infer<typeof ToolRequest>;

export const BrokerRequest = z.discriminatedUnion("kind", [ToolRequest]);
export type BrokerRequest = z.infer<typeof BrokerRequest>;

/** How a call ended. Content is the tool's own text, unescaped. `message` of `failed` is one of brokerd's fixed sentences. */
export const ToolOutcome = z.discriminatedUnion("outcome", [
  z
    .strictObject({
      outcome: z.literal("result"),
      content: z.string(),
      class: DataClass,
      untrusted: z.boolean(),
      truncated: z.boolean(),
    })
    .readonly(),
  z.strictObject({ outcome: z.literal("failed"), message: z.string() }).readonly(),
  z.strictObject({ outcome: z.literal("denied"), reason: DenialReason }).readonly(),
]);
export type ToolOutcome = z.infer<typeof ToolOutcome>;

/** The final answer to a tool request. */
export const ToolResponse = z.strictObject({ kind: z.literal("tool_response"), body: ToolOutcome }).readonly();
export type ToolResponse = z.infer<typeof ToolResponse>;

/** Sent once, not final, while the owner is asked. */
export const PendingApproval = message("pending_approval", { approval: ApprovalId, expires: Timestamp });
export type PendingApproval = z.infer<typeof PendingApproval>;

export const BrokerAnswer = z.discriminatedUnion("kind", [ToolResponse, PendingApproval, ErrorMessage]);
export type BrokerAnswer = z.infer<typeof BrokerAnswer>;
