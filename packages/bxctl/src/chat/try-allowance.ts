/** Whether a grant that was just given lets anything run: an ask or a deny of the owner's holds whatever is granted beside it. */
import { canonicalJson, quoteText, type SessionId, unreachable } from "@boxmaker/proto";
import { askAdmin } from "../box/ask-admin.ts";
import type { AllowWish } from "./wish.ts";

/** A call as the grant could be for. */
function sampleArguments({ tool, scope }: AllowWish): Readonly<Record<string, string>> {
  switch (tool) {
    case "read_file":
      return { path: `${scope}/a` };
    case "write_file":
      return { path: `${scope}/a`, content: "" };
    case "shell":
      return { command: "true", cwd: scope };
    case "http_fetch":
      return { url: `https://${scope.replace(/^\*\./u, "a.")}/` };
    default:
      return unreachable(tool);
  }
}

/** What stands in the way of the grant, in printable lines; empty where a call there runs, or brokerd doesn't say. */
export async function obstaclesOf(socket: string, session: SessionId, wish: AllowWish): Promise<readonly string[]> {
  const body = { session, state: null, tool: wish.tool, arguments: canonicalJson(sampleArguments(wish)) };
  const reply = await askAdmin(socket, { kind: "explain", body }, "explanation");
  if (reply.kind !== "answer" || reply.body.outcome === "allowed") return [];
  const { outcome, matched } = reply.body;
  const restricting = matched.filter(({ mode, effect }) => mode !== "auto" || effect !== "auto");
  return [
    `though it is in force, a call there ${outcome === "ask" ? "still asks" : "is still denied"}:`,
    ...restricting.map(
      ({ grant, file, line, effect, because }) =>
        `  ${quoteText(grant)} in ${quoteText(file)} line ${line}: ${effect}, by ${because}`,
    ),
  ];
}
