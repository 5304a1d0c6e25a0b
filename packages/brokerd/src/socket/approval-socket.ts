/** approval.sock: a gateway's questions and answers about asks whose grants let `gateway` approve. It sees no others, and can do nothing else. */
import {
  type AbsPath,
  ApprovalAnswer,
  type ApprovalId,
  type ApprovalRequest,
  type GatewayUser,
  unreachable,
} from "@boxmaker/proto";
import type { ApprovalTable } from "../approvals/approval-table.ts";
import type { Approvals, Approver } from "../approvals/approvals.ts";
import type { AskEnd } from "../calls/tool-calls.ts";
import type { Events } from "../events.ts";
import type { Connections } from "./connections.ts";
import type { ServedSocket } from "./serve-socket.ts";
import { type Watching, watchAsks } from "./watch-asks.ts";

export interface ApprovalSocketOptions {
  readonly path: AbsPath;
  readonly approvals: Approvals;
  readonly table: ApprovalTable<AskEnd>;
  readonly events: Events;
  readonly connections: Pick<Connections, "ending">;
}

/** Who it is comes from the socket; whom the gateway names goes on record beside it. */
function approverOf({ id }: GatewayUser): Approver {
  return { by: "gateway", user: id };
}

export function approvalSocket(options: ApprovalSocketOptions): ServedSocket<ApprovalRequest["kind"], ApprovalAnswer> {
  return {
    name: "approval",
    path: options.path,
    answers: ApprovalAnswer,
    kinds: ["asks", "ask", "approve_ask", "refuse_ask", "watch_asks"],
    handle: async (request, send, gone) => {
      if (request.kind === "watch_asks") await watchAsks<ApprovalAnswer>(watching(options), send, gone);
      else await send(await answer(request, options), true);
    },
  };
}

async function answer(
  request: Exclude<ApprovalRequest, { kind: "watch_asks" }>,
  { approvals, events }: ApprovalSocketOptions,
): Promise<ApprovalAnswer> {
  switch (request.kind) {
    case "asks":
      return approvals.list("gateway");
    case "ask":
      return approvals.show(request.body.approval, "gateway");
    case "approve_ask": {
      const { approval, digest, user } = request.body;
      events.gatewayAnswers(approval, "approve", user);
      return approvals.approve(approval, digest, approverOf(user));
    }
    case "refuse_ask": {
      const { approval, digest, user, reason } = request.body;
      events.gatewayAnswers(approval, "refuse", user);
      return approvals.refuse(approval, reason, approverOf(user), digest);
    }
    default:
      return unreachable(request);
  }
}

/** Tells of each ask from when the gateway may answer it until it may not. */
function watching({ table, connections }: ApprovalSocketOptions): Watching<ApprovalAnswer> {
  const told = new Set<ApprovalId>();
  return {
    table,
    ending: connections.ending,
    tell: ({ id, ask }, change) => {
      const wasTold = told.delete(id);
      if (change !== "pending") return wasTold ? { kind: "ask_event", body: { approval: id, change } } : undefined;
      if (ask.approvers.includes("gateway")) {
        told.add(id);
        return { kind: "ask_event", body: { approval: id, change } };
      }
      // What is asked has changed, and by now only others may answer it.
      return wasTold ? { kind: "ask_event", body: { approval: id, change: "elsewhere" } } : undefined;
    },
  };
}
