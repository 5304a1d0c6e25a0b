/** A grant that the owner gives a session in chat: it is in force as long as the connection on which brokerd was asked stays open. */
import { requestReply } from "@boxmaker/edge/socket";
import { AdminAnswer, AdminRequest, escapeText, type Timestamp } from "@boxmaker/proto";
import { phraseExchangeError } from "../box/exchange-problem.ts";

/** For connecting and being told that the grant is in force, in milliseconds. */
const DEADLINE_MS = 10_000;

export interface HeldGrant {
  readonly grant: string;
  /** All that it says. */
  readonly text: string;
  readonly expires: Timestamp;
  /** Ends it, and says in one printable clause how it ended. */
  readonly release: () => Promise<string>;
}

/** `lines` are printable. */
export type Allowing =
  | { readonly kind: "held"; readonly held: HeldGrant }
  | { readonly kind: "failed"; readonly lines: readonly string[] };

type AllowBody = Extract<AdminRequest, { kind: "allow" }>["body"];

function refusal(answer: AdminAnswer): readonly string[] {
  if (answer.kind === "error") return [`brokerd: ${answer.body.code}: ${escapeText(answer.body.detail)}`];
  if (answer.kind !== "grants_report") {
    return [`brokerd answered ${answer.kind} where allowed was due; see docs/runbook.md#peer-unreadable`];
  }
  const { problems } = answer.body;
  return [
    ...problems.map(({ file, line, problem }) => `${escapeText(file)}${line === 0 ? "" : `:${line}`}: ${escapeText(problem)}`),
    "it can't be allowed so; see docs/runbook.md#grants-invalid",
  ];
}

/** Asks for the grant and holds it. Never rejects for what brokerd does. */
export async function holdGrant(socket: string, body: AllowBody): Promise<Allowing> {
  const over = new AbortController();
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const giveUp = (): void => over.abort(deadline.reason);
  deadline.addEventListener("abort", giveUp, { once: true });
  const answers = requestReply(socket, {
    requests: AdminRequest,
    answers: AdminAnswer,
    message: { kind: "allow", body },
    signal: over.signal,
  });
  try {
    const first = await answers.next();
    if (first.done === true)
      return { kind: "failed", lines: ["brokerd ended without an answer; see docs/runbook.md#peer-unreadable"] };
    const { message } = first.value;
    if (message.kind !== "allowed") {
      await answers.return();
      return { kind: "failed", lines: refusal(message) };
    }
    const { grant, text, expires } = message.body;
    const ending = waitForEnd(socket, answers, over.signal);
    const release = async (): Promise<string> => {
      over.abort();
      return await ending;
    };
    return { kind: "held", held: { grant, text, expires, release } };
  } catch (error) {
    // Whether it was given is unknown, but it isn't held: brokerd ends it as the connection has ended.
    return { kind: "failed", lines: [phraseExchangeError("brokerd", socket, error)] };
  } finally {
    deadline.removeEventListener("abort", giveUp);
  }
}

/** How the grant ended. Never rejects for what brokerd does. */
async function waitForEnd(
  socket: string,
  answers: ReturnType<typeof requestReply<AdminRequest, AdminAnswer>>,
  over: AbortSignal,
): Promise<string> {
  try {
    const last = await answers.next();
    if (last.done === true) return "ended";
    const { message } = last.value;
    await answers.return();
    return message.kind === "allow_ended" ? `ended: ${message.body.reason}` : `ended: ${refusal(message).join("; ")}`;
  } catch (error) {
    // Let go of by us, or lost: in either case brokerd ends it with the connection.
    return over.aborted ? "ended" : `ended: ${phraseExchangeError("brokerd", socket, error)}`;
  }
}
