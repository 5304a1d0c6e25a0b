/** One short question to loopd and its answer, within a deadline. Turns, which last, are in chat/run-turn.ts. */
import { requestFinal } from "@boxmaker/edge/socket";
import { type CallId, escapeText, LoopAnswer, LoopRequest, type SessionId, type SessionSummary } from "@boxmaker/proto";
import { phraseExchangeError } from "./exchange-problem.ts";

/** For connecting, asking and being answered, in milliseconds. */
const DEADLINE_MS = 10_000;

type LoopReply = { readonly kind: "answer"; readonly answer: LoopAnswer } | { readonly kind: "failed"; readonly problem: string };

async function askLoop(socket: string, message: LoopRequest): Promise<LoopReply> {
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const answer = await requestFinal(socket, { requests: LoopRequest, answers: LoopAnswer, message, signal });
    if (answer.kind !== "error") return { kind: "answer", answer };
    return { kind: "failed", problem: `loopd: ${answer.body.code}: ${escapeText(answer.body.detail)}` };
  } catch (error) {
    // Nothing is assumed of a question without an answer; the line says what is known.
    return { kind: "failed", problem: phraseExchangeError("loopd", socket, error) };
  }
}

function unexpected(answer: LoopAnswer, due: string): string {
  return `loopd answered ${answer.kind} where ${due} was due; see docs/runbook.md#peer-unreadable`;
}

/** The conversations that loopd knows, or one printable line. */
export async function askSessions(
  socket: string,
): Promise<
  | { readonly kind: "sessions"; readonly sessions: readonly SessionSummary[] }
  | { readonly kind: "failed"; readonly problem: string }
> {
  const reply = await askLoop(socket, { kind: "sessions", body: {} });
  if (reply.kind === "failed") return reply;
  if (reply.answer.kind === "session_list") return { kind: "sessions", sessions: reply.answer.body.sessions };
  return { kind: "failed", problem: unexpected(reply.answer, "session_list") };
}

/** Asks loopd to end the session's turn at its next safe point. Returns one printable line where it couldn't be asked. */
export async function askCancel(socket: string, session: SessionId): Promise<string | undefined> {
  const reply = await askLoop(socket, { kind: "cancel", body: { session } });
  if (reply.kind === "failed") return reply.problem;
  return reply.answer.kind === "ok" ? undefined : unexpected(reply.answer, "ok");
}

/** Where the first turns of a session end: how many turns it has, and the last call that they made. */
export async function askRewindPoint(
  socket: string,
  session: SessionId,
  turn: number,
): Promise<
  { readonly kind: "point"; readonly turns: number; readonly call: CallId } | { readonly kind: "failed"; readonly problem: string }
> {
  const reply = await askLoop(socket, { kind: "rewind_point", body: { session, turn } });
  if (reply.kind === "failed") return reply;
  if (reply.answer.kind !== "rewind_point_report")
    return { kind: "failed", problem: unexpected(reply.answer, "rewind_point_report") };
  return { kind: "point", turns: reply.answer.body.turns, call: reply.answer.body.call };
}

/** Has loopd start session `to` with the first turns of another. Returns one printable line where it couldn't. */
export async function askRewind(
  socket: string,
  rewind: Extract<LoopRequest, { kind: "rewind" }>["body"],
): Promise<string | undefined> {
  const reply = await askLoop(socket, { kind: "rewind", body: rewind });
  if (reply.kind === "failed") return reply.problem;
  return reply.answer.kind === "session_started" ? undefined : unexpected(reply.answer, "session_started");
}
