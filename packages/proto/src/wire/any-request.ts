/** All requests there are, so that a server can tell a kind of another socket (`forbidden`) from no kind at all. */
import { z } from "zod";
import { AdminRequest } from "./admin-messages.ts";
import { ApprovalRequest } from "./approval-messages.ts";
import { BrokerRequest } from "./broker-messages.ts";
import { LoopRequest } from "./loop-messages.ts";

export const AnyRequest = z.discriminatedUnion("kind", [LoopRequest, BrokerRequest, AdminRequest, ApprovalRequest]);
export type AnyRequest = z.infer<typeof AnyRequest>;
