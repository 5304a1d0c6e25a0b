/** broker.sock: tool requests of loopd; the MCP front has a socket of its own. */
import { type AbsPath, BrokerAnswer, type BrokerRequest, type Origin } from "@boxmaker/proto";
import type { ToolCalls } from "../calls/tool-calls.ts";
import type { SocketName } from "../events.ts";
import type { ServedSocket } from "./serve-socket.ts";

const FOREIGN_SESSION: BrokerAnswer = {
  kind: "error",
  body: { code: "forbidden", detail: "this session belongs to another kind of client; see docs/runbook.md#foreign-session" },
};

/** @param origin what the sessions that come in here are recorded as; those of another origin can't be used here */
export function brokerSocket(
  name: SocketName,
  path: AbsPath,
  origin: Origin,
  calls: ToolCalls,
): ServedSocket<BrokerRequest["kind"], BrokerAnswer> {
  return {
    name,
    path,
    answers: BrokerAnswer,
    kinds: ["tool_request"],
    handle: async (request, send, gone) => {
      const { session, call, tool, arguments: argumentsText } = request.body;
      const tellPending = async (answer: BrokerAnswer): Promise<boolean> => (await send(answer, false)) === "sent";
      const outcome = await calls.handle({ session, call, tool, argumentsText }, origin, tellPending, gone);
      await send(outcome === "foreign_session" ? FOREIGN_SESSION : { kind: "tool_response", body: outcome }, true);
    },
  };
}
