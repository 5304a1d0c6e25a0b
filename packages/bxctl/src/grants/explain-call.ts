/** `bxctl grants explain`: what a call would come to, by brokerd's own rules, grants and state. Nothing happens by it. */
import { DataClass, type Explanation, type Label, quoteText, RequestedTool, unreachable } from "@boxmaker/proto";
import { readSession } from "../audit/audit-command.ts";
import { askAdmin } from "../box/ask-admin.ts";
import { phraseTool } from "../chat/event-lines.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { readCallWords } from "./call-words.ts";
import { explanationLines, phraseOutcome } from "./describe-explanation.ts";
import { end, type GrantsCommand } from "./grants-command.ts";

const MARKS = { first: "", rest: "      " };

/** Flags as they were typed. */
export interface ExplainFlags {
  readonly session?: string | undefined;
  readonly taint?: string | undefined;
  readonly untrusted?: boolean | undefined;
}

function statusOf({ outcome }: Explanation["body"]): ExitStatus {
  switch (outcome) {
    case "allowed":
      return 0;
    case "ask":
      return 10;
    case "denied":
      return 20;
    default:
      return unreachable(outcome);
  }
}

function readState({ taint, untrusted = false }: ExplainFlags): Label | null | undefined {
  if (taint === undefined && !untrusted) return null;
  const read = DataClass.safeParse(taint ?? "public");
  return read.success ? { taint: read.data, untrusted } : undefined;
}

/** 0 where the call would run, 10 where it would ask, 20 where it would be denied. */
export async function explainCall(
  command: GrantsCommand,
  tool: string,
  words: readonly string[],
  flags: ExplainFlags,
): Promise<ExitStatus> {
  const { places, out, json } = command;
  const session = readSession(flags.session);
  if (session.kind === "usage") return end(command, 2, session.problem).status;
  const state = readState(flags);
  if (state === undefined) {
    return end(command, 2, `${quoteText(flags.taint ?? "")} is no class: expected ${DataClass.options.join(", ")}`).status;
  }
  if (session.value !== undefined && state !== null) {
    return end(command, 2, "expected --session, or --taint and --untrusted: a session has seen what it has seen").status;
  }
  const named = RequestedTool.safeParse(tool);
  if (!named.success) return end(command, 2, `${quoteText(tool)} can't be the name of a tool`).status;
  const call = readCallWords(words);
  if (call.kind === "usage") return end(command, 2, call.problem).status;
  const request = { session: session.value ?? null, state, tool: named.data, arguments: call.text };
  const reply = await askAdmin(places.adminSocket, { kind: "explain", body: request }, "explanation");
  if (reply.kind !== "answer") return end(command, 1, reply.problem).status;
  if (json) out.raw(jsonLine(reply.body));
  else {
    out.line(out.style.bold(`${phraseTool(tool)}: ${phraseOutcome(reply.body)}`), MARKS);
    for (const line of explanationLines(reply.body, true)) out.line(line, MARKS);
  }
  return statusOf(reply.body);
}
