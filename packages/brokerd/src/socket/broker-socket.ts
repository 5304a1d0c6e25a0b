/** broker.sock: tool requests of loopd; the MCP front has a socket of its own. */
import { type AbsPath, BrokerAnswer, type BrokerRequest, type Origin } from "@boxmaker/proto";
import type { NotDecided, ToolCalls } from "../calls/tool-calls.ts";
import type { Events, SocketName } from "../events.ts";
import type { ServedSocket } from "./serve-socket.ts";

const NOT_DECIDED: Readonly<Record<NotDecided, BrokerAnswer>> = {
  foreign_session: {
    kind: "error",
    body: { code: "forbidden", detail: "this session belongs to another kind of client; see docs/runbook.md#foreign-session" },
  },
  reused_call: {
    kind: "error",
    body: { code: "forbidden", detail: "call: the session has used this number before; see docs/runbook.md#reused-call" },
  },
};

/** @param origin what the sessions that come in here are recorded as; those of another origin can't be used here */
export function brokerSocket(
  name: SocketName,
  path: AbsPath,
  origin: Origin,
  calls: ToolCalls,
  events: Events,
): ServedSocket<BrokerRequest["kind"], BrokerAnswer> {
  return {
    name,
    path,
    answers: BrokerAnswer,
    kinds: ["tool_request"],
    handle: async (request, send, gone) => {
      const { session, call, turn, tool, arguments: argumentsText } = request.body;
      const tellPending = async (answer: BrokerAnswer): Promise<boolean> => (await send(answer, false)) === "sent";
      const outcome = await calls.handle({ session, call, turn, tool, argumentsText }, origin, tellPending, gone);
      if (typeof outcome !== "string") events.answered(outcome);
      await send(typeof outcome === "string" ? NOT_DECIDED[outcome] : { kind: "tool_response", body: outcome }, true);
    },
  };
}
