/** A new session that begins with the first turns of another one, so that the model's server has most of it in its cache. */
import { SessionError } from "@boxmaker/edge/session-files";
import { type ErrorCode, type LoopAnswer, type LoopRequest, type Origin, unreachable } from "@boxmaker/proto";
import type { SessionPrefix } from "../session/prefix.ts";
import type { SessionStore } from "../session/session-store.ts";
import { codeOf, sees } from "./conversation.ts";
import type { RunningTurns } from "./running-turns.ts";

type RewindRequest = Extract<LoopRequest, { kind: "rewind_point" | "rewind" }>;

export interface RewindingDependencies {
  readonly origin: Origin;
  readonly store: SessionStore;
  readonly running: RunningTurns;
}

function failure(code: ErrorCode, detail: string): LoopAnswer {
  return { kind: "error", body: { code, detail } };
}

const FORBIDDEN = failure("forbidden", "only the owner's own terminal rewinds a session");

/**
 * Answers where the first turns of a session end, or starts a session with them. Only for the terminal: a session that was started
 * so without telling brokerd what it has seen would be taken for a new one.
 */
export async function answerRewind(request: RewindRequest, dependencies: RewindingDependencies): Promise<LoopAnswer> {
  if (dependencies.origin !== "terminal") return FORBIDDEN;
  try {
    return await rewind(request, dependencies);
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
    return failure(codeOf(error), error.message);
  }
}

async function rewind(request: RewindRequest, { origin, store, running }: RewindingDependencies): Promise<LoopAnswer> {
  const { session, turn } = request.body;
  const isRunning = running.isRunning(session);
  const prefix = await store.prefix(session, turn, isRunning);
  if (prefix === undefined) return failure("no_such_turn", "the session has fewer turns");
  if (!sees(origin, prefix.start.origin)) throw new SessionError("missing", "there is no such session");
  // Turns before the one that is running don't change any more.
  if ((isRunning || running.isRunning(session)) && turn >= prefix.turns) {
    return failure("session_busy", "that turn of the session is still running");
  }
  switch (request.kind) {
    case "rewind_point":
      return { kind: "rewind_point_report", body: { session, turn, turns: prefix.turns, call: prefix.call } };
    case "rewind":
      return await start(request.body, prefix, store);
    default:
      return unreachable(request);
  }
}

async function start(
  { call, to }: Extract<RewindRequest, { kind: "rewind" }>["body"],
  prefix: SessionPrefix,
  store: SessionStore,
): Promise<LoopAnswer> {
  if (call !== prefix.call) return failure("bad_message", `call: expected ${prefix.call}, the last one of these turns`);
  const { baseline, records } = prefix;
  const { origin, slot } = prefix.start;
  const made = await store.create({ id: to, origin, slot, baseline, records });
  await made[Symbol.asyncDispose]();
  return { kind: "session_started", body: { session: to } };
}
