/** One question to brokerd and its answer, within a deadline. */
import { requestFinal } from "@boxmaker/edge/socket";
import { AdminAnswer, AdminRequest, type ErrorCode, escapeText } from "@boxmaker/proto";
import { phraseExchangeError } from "./exchange-problem.ts";

/** For connecting, asking and being answered, in milliseconds. */
const DEADLINE_MS = 10_000;

type Bodies = { readonly [A in Exclude<AdminAnswer, { readonly kind: "error" }> as A["kind"]]: A["body"] };
type AnswerKind = keyof Bodies;

/** The body of one kind of answer. */
export type BodyOf<K extends AnswerKind> = Bodies[K];

/** `refused` is brokerd's own error; both problems are one printable line. */
export type AdminReply<K extends AnswerKind> =
  | { readonly kind: "answer"; readonly body: BodyOf<K> }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string };

function isKind<K extends AnswerKind>(
  answer: AdminAnswer,
  kind: K,
): answer is AdminAnswer & { readonly kind: K; readonly body: BodyOf<K> } {
  return answer.kind === kind;
}

/**
 * Asks brokerd on admin.sock, where an answer of `kind` is due. Never rejects for what the peer does.
 *
 * @param signal the deadline of all of it, ten seconds unless given
 */
export async function askAdmin<K extends AnswerKind>(
  socket: string,
  message: AdminRequest,
  kind: K,
  signal: AbortSignal = AbortSignal.timeout(DEADLINE_MS),
): Promise<AdminReply<K>> {
  let answer: AdminAnswer;
  try {
    answer = await requestFinal(socket, {
      requests: AdminRequest,
      answers: AdminAnswer,
      message,
      signal,
    });
  } catch (error) {
    // Nothing is assumed of a question without an answer; the line says what is known.
    return { kind: "failed", problem: phraseExchangeError("brokerd", socket, error) };
  }
  if (answer.kind === "error") {
    const { code, detail } = answer.body;
    return { kind: "refused", code, problem: `brokerd: ${code}: ${escapeText(detail)}` };
  }
  if (isKind(answer, kind)) return { kind: "answer", body: answer.body };
  return { kind: "failed", problem: `brokerd answered ${answer.kind} where ${kind} was due; see docs/runbook.md#peer-unreadable` };
}
