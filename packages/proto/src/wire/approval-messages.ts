/** approval.sock: what a gateway may do with the calls that wait, on behalf of a person whom it knows. Nothing else is asked here. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { ApprovalId } from "../ids/integers.ts";
import { AdminOk, ApprovalBlock, ApprovalList, ApproveResult } from "./admin-messages.ts";
import { ErrorMessage } from "./error-message.ts";
import { message } from "./message.ts";

/** The person who answers, as the gateway's peer knows them: `id` never changes and goes on record, `name` is what others call them. */
export const GatewayUser = z
  .strictObject({
    id: z.string().regex(/^[\x21-\x7e]{1,64}$/u, "expected 1 to 64 printable ASCII characters without a space"),
    name: z.string().regex(/^[^\p{C}\p{Z}]{1,64}$/u, "expected 1 to 64 printable characters without a space"),
  })
  .readonly();
export type GatewayUser = z.infer<typeof GatewayUser>;

export const Asks = message("asks", {});
export const AskById = message("ask", { approval: ApprovalId });
/** `digest` is that of the block that the person was shown. */
export const ApproveAsk = message("approve_ask", { approval: ApprovalId, digest: Hash32, user: GatewayUser });
export const RefuseAsk = message("refuse_ask", {
  approval: ApprovalId,
  digest: Hash32,
  user: GatewayUser,
  reason: z.string().max(1000).nullable(),
});
export const WatchAsks = message("watch_asks", {});

export const ApprovalRequest = z.discriminatedUnion("kind", [Asks, AskById, ApproveAsk, RefuseAsk, WatchAsks]);
export type ApprovalRequest = z.infer<typeof ApprovalRequest>;

/** A line of `watch_asks`. `elsewhere`: it waits on, but the gateway can't answer it any more. */
export const AskEvent = message("ask_event", {
  approval: ApprovalId,
  change: z.enum(["pending", "approved", "refused", "expired", "gone", "elsewhere"]),
});

export const ApprovalAnswer = z.discriminatedUnion("kind", [
  ApprovalList,
  ApprovalBlock,
  ApproveResult,
  AdminOk,
  AskEvent,
  ErrorMessage,
]);
export type ApprovalAnswer = z.infer<typeof ApprovalAnswer>;
