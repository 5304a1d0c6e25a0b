/** `bxctl session show` and `session rewind`: what a session has seen and can still do, and going back before it. */
import { systemClock } from "@boxmaker/edge/log";
import { quoteText, SafeInteger, type SessionId } from "@boxmaker/proto";
import { phraseLabel } from "../approvals/describe-ask.ts";
import { readSession } from "../audit/audit-command.ts";
import { newSessionId } from "../chat/conversation.ts";
import { phraseTool } from "../chat/event-lines.ts";
import { field } from "../grants/describe-explanation.ts";
import type { SessionPowers } from "../grants/session-powers.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { askAdmin, type BodyOf } from "./ask-admin.ts";
import { askRewind, askRewindPoint } from "./ask-loop.ts";
import type { BoxCommand } from "./box-commands.ts";

const MARKS = { first: "", rest: "      " };

function fail({ err }: BoxCommand, status: ExitStatus, problem: string): ExitStatus {
  err.line(`bxctl: ${problem}`);
  return status;
}

function readId(command: BoxCommand, text: string): SessionId | undefined {
  const session = readSession(text);
  if (session.kind === "ok") return session.value;
  fail(command, 2, session.problem);
  return undefined;
}

function powerLines(powers: SessionPowers | undefined): readonly string[] {
  if (powers === undefined) return field("can do", ["unknown: its grants can't be read here, see bxctl grants check"]);
  const phrase = (list: SessionPowers["auto"]): readonly string[] => list.map(({ tool, target }) => `${tool} ${quoteText(target)}`);
  return [
    ...field("still auto", powers.auto.length === 0 ? ["nothing"] : phrase(powers.auto)),
    ...field("now asks", phrase(powers.asks)),
    ...field("gone now", phrase(powers.gone)),
  ];
}

function reportLines(report: BodyOf<"session_report">, powers: SessionPowers | undefined): readonly string[] {
  const { origin, ceiling, from, raised_by: raised, grants } = report;
  return [
    ...field("comes from", [`${origin}, may see ${ceiling}`]),
    ...field("rewound", from === null ? [] : [`from ${from.session}, with its first ${from.turn} turns (up to call ${from.call})`]),
    ...field(
      "raised by",
      raised.map(
        ({ call, tool, decision, after }) => `call ${call}: ${phraseTool(tool)}, to ${phraseLabel(after)} (record ${decision})`,
      ),
    ),
    ...field(
      "own grants",
      grants.map(({ grant, text }) => `${quoteText(grant)}: ${quoteText(text)}`),
    ),
    ...powerLines(powers),
  ];
}

/** What a session has seen, the calls that raised it, and what it can do now. */
export async function showSession(command: BoxCommand, id: string): Promise<ExitStatus> {
  const session = readId(command, id);
  if (session === undefined) return 2;
  const { places, out, json } = command;
  const reply = await askAdmin(places.adminSocket, { kind: "session", body: { session } }, "session_report");
  if (reply.kind !== "answer") return fail(command, 1, reply.problem);
  const { state: label, origin, ceiling, grants: own } = reply.body;
  const { sessionPowers } = await import("../grants/session-powers.ts");
  const powers = await sessionPowers(places.home, { session, label, origin, ceiling, own });
  if (json) {
    out.raw(jsonLine({ ...reply.body, powers: powers ?? null }));
    return 0;
  }
  out.line(`session ${session}: has seen ${phraseLabel(label)}`, MARKS);
  for (const line of reportLines(reply.body, powers)) out.line(line, MARKS);
  return 0;
}

/**
 * Starts a new session with the first turns of another one and with what it had seen by then. brokerd records that before loopd makes the
 * session: where it can be talked to, its state is on record.
 */
export async function rewindSession(command: BoxCommand, id: string, to: string): Promise<ExitStatus> {
  const session = readId(command, id);
  if (session === undefined) return 2;
  const turn = SafeInteger.safeParse(/^[0-9]{1,15}$/u.test(to) ? Number(to) : undefined);
  if (!turn.success) return fail(command, 2, `${quoteText(to)} is no turn: expected how many turns are kept, 0 or more`);
  const { places, out, json } = command;
  const point = await askRewindPoint(places.loopSocket, session, turn.data);
  if (point.kind === "failed") return fail(command, 1, point.problem);
  const { call } = point;
  const fresh = newSessionId(systemClock.now());
  const prefix = { session, turn: turn.data, call, to: fresh };
  const opened = await askAdmin(places.adminSocket, { kind: "open_rewound", body: prefix }, "session_report");
  if (opened.kind !== "answer") return fail(command, 1, `session ${session} isn't rewound: ${opened.problem}`);
  const problem = await askRewind(places.loopSocket, prefix);
  if (problem !== undefined) {
    return fail(command, 1, `session ${fresh} is on record, but loopd didn't start it, so nothing uses it; try again: ${problem}`);
  }
  if (json) out.raw(jsonLine(opened.body));
  else {
    out.line(
      `session ${fresh}: the first ${turn.data} of ${point.turns} turns of ${session}; has seen ${phraseLabel(opened.body.state)}`,
    );
    out.line(`go on with: bxctl chat --session ${fresh}${places.homeFlags}`);
  }
  return 0;
}
