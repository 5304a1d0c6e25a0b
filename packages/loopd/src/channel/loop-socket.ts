/** loop.sock: answers one request per connection, for one kind of client. */
import { type Listening, listenUnix, type Reply, serveConnection } from "@boxmaker/edge/socket";
import {
  type AbsPath,
  AnyRequest,
  type ErrorCode,
  ErrorMessage,
  encodeMessage,
  LoopAnswer,
  LoopRequest,
  type Origin,
  type SessionId,
  type SessionSummary,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";
import type { ConfigFile } from "../config/config-file.ts";
import { errnoOf } from "../errors.ts";
import type { Events } from "../events.ts";
import { SessionError } from "../session/session-error.ts";
import type { SessionStore } from "../session/session-store.ts";
import { glance } from "../session/summarize.ts";
import type { TurnOutcome } from "../turn/turn-outcome.ts";
import { type Conversation, sees, type TurnBody } from "./conversation.ts";
import { EventOutbox } from "./event-outbox.ts";
import { answerRewind } from "./rewinding.ts";
import type { RunningTurns } from "./running-turns.ts";

export interface LoopSocketDependencies {
  readonly path: AbsPath;
  readonly origin: Origin;
  readonly limits: ConfigFile["loop"];
  readonly conversation: Conversation;
  readonly running: RunningTurns;
  readonly store: SessionStore;
  readonly events: Events;
}

/** More sessions than this aren't listed, so that the answer fits its frame. */
const MAX_LISTED = 10_000;
const NOT_BUILT = "not built yet";

function failure(code: ErrorCode, detail: string): LoopAnswer {
  return { kind: "error", body: { code, detail } };
}

function answerOf(outcome: TurnOutcome): LoopAnswer {
  if (outcome.kind === "failed") return failure(outcome.code, outcome.detail);
  return { kind: "turn_done", body: { content: outcome.content, usage: outcome.usage } };
}

class LoopSocket {
  readonly #dependencies: LoopSocketDependencies;

  constructor(dependencies: LoopSocketDependencies) {
    this.#dependencies = dependencies;
  }

  async answer(request: AnyRequest, reply: Reply<LoopAnswer>): Promise<void> {
    const mine = LoopRequest.safeParse(request);
    if (!mine.success) {
      this.#dependencies.events.forbidden(this.#dependencies.path, request.kind);
      await reply(failure("forbidden", "this socket doesn't take such requests"), true);
      return;
    }
    const { data } = mine;
    switch (data.kind) {
      case "turn":
        await this.#answerTurn(data.body, reply);
        return;
      case "cancel":
        await reply(await this.#answerCancel(data.body.session), true);
        return;
      case "sessions":
        await reply(await this.#answerSessions(), true);
        return;
      case "rewind_point":
      case "rewind":
        await reply(await answerRewind(data, this.#dependencies), true);
        return;
      case "compact":
        await reply(failure("internal", NOT_BUILT), true);
        return;
      default:
        unreachable(data);
    }
  }

  async #answerTurn(body: TurnBody, reply: Reply<LoopAnswer>): Promise<void> {
    const { running, origin, events } = this.#dependencies;
    const taken = running.take(body.session, origin);
    switch (taken.kind) {
      case "session_busy":
        await reply(failure("session_busy", "the session has a turn running"), true);
        return;
      case "too_many":
        await reply(failure("busy", "too many turns are running"), true);
        return;
      case "stopping":
        await reply(failure("busy", "loopd is stopping"), true);
        return;
      case "taken":
    }
    const outbox = new EventOutbox(
      (event) => reply({ kind: "turn_event", body: event }, false),
      () => events.clientDropped(body.session, "it has gone or reads too slowly; the turn goes on"),
    );
    events.turnStarted(body.session, origin);
    const outcome = await this.#runTurn(body, outbox, taken.turn.signal);
    events.turnEnded(
      body.session,
      outcome.kind === "failed" ? outcome.code : outcome.kind,
      outcome.kind === "failed" ? outcome.detail : "",
    );
    // Free before the last frame: who has read it may send the next turn at once.
    taken.turn.release();
    if ((await outbox.drain()) === "sent") await reply(answerOf(outcome), true);
  }

  async #runTurn(body: TurnBody, outbox: EventOutbox, signal: AbortSignal): Promise<TurnOutcome> {
    const { conversation, origin, events } = this.#dependencies;
    try {
      return await conversation.run(origin, body, (event) => outbox.push(event), signal);
    } catch (error) {
      // A bug in one turn ends that turn; its session is repaired when it is used next.
      events.bug("turn", error);
      return {
        kind: "failed",
        code: "internal",
        detail: "loopd made a mistake; its log has the details; see docs/runbook.md#loopd-bug",
      };
    }
  }

  async #answerCancel(session: SessionId): Promise<LoopAnswer> {
    const { running, origin } = this.#dependencies;
    // A turn that runs may not have its session on disk yet, and one on another client's session is refused there.
    const runner = running.originOf(session);
    const visible = (runner !== undefined && sees(origin, runner)) || (await this.#summarize(session)) !== undefined;
    if (!visible) return failure("no_such_session", "there is no such session");
    running.cancel(session);
    return { kind: "ok", body: {} };
  }

  async #answerSessions(): Promise<LoopAnswer> {
    try {
      const ids = (await this.#dependencies.store.list()).slice(0, MAX_LISTED);
      const sessions: SessionSummary[] = [];
      for (const id of ids) {
        const summary = await this.#summarize(id);
        if (summary !== undefined) sessions.push(summary);
      }
      sessions.sort((a, b) => (a.updated < b.updated ? 1 : -1));
      return { kind: "session_list", body: { sessions } };
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      return failure("internal", error.message);
    }
  }

  /** The session as this client sees it; undefined where it isn't there, isn't this client's, or can't be read. */
  async #summarize(session: SessionId): Promise<SessionSummary | undefined> {
    const { store, origin, running } = this.#dependencies;
    try {
      const { path, modified } = await store.lastLog(session);
      const found = await glance(path);
      if (found === undefined || !sees(origin, found.origin)) return undefined;
      return { session, turns: found.turns, busy: running.isRunning(session), updated: timestampFromMillis(Math.floor(modified)) };
    } catch (error) {
      // Gone or unreadable: a turn on it says why; a list leaves it out.
      if (error instanceof SessionError || errnoOf(error) !== "unknown error") return undefined;
      throw error;
    }
  }
}

/** Serves one loop.sock. `refused` is one printable line without a runbook pointer. */
export async function serveLoopSocket(dependencies: LoopSocketDependencies): Promise<Listening> {
  const { path, limits, events } = dependencies;
  const loop = new LoopSocket(dependencies);
  return await listenUnix({
    path,
    maxConnections: limits.connections,
    onRefused: (socket) => {
      events.connectionRefused(path);
      const message = { kind: "error" as const, body: { code: "limit" as const, detail: "too many connections" } };
      socket.write(encodeMessage(ErrorMessage, { id: 0, final: true, message }));
    },
    onError: (error) => events.listenerTrouble(path, errnoOf(error)),
    onConnection: (socket) => {
      serveConnection(socket, {
        requests: AnyRequest,
        answers: LoopAnswer,
        readDeadlineMs: limits.read_deadline_ms,
        writeDeadlineMs: limits.write_deadline_ms,
        handle: async ({ message }, reply) => await loop.answer(message, reply),
        onFault: (fault, detail) => events.requestFault(path, fault, detail),
        onBug: (error) => events.bug("connection", error),
      }).catch((error: unknown) => events.bug("connection", error));
    },
  });
}
