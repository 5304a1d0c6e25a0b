/** loop.sock: answers one request per connection, for one kind of client. */
import { SessionError } from "@boxmaker/edge/session-files";
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
  type TurnEvent,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";
import type { ConfigFile } from "../config/config-file.ts";
import { errnoOf } from "../errors.ts";
import type { Events } from "../events.ts";
import type { SessionStore } from "../session/session-store.ts";
import type { TurnOutcome } from "../turn/turn-outcome.ts";
import { type CompactOutcome, type Conversation, sees, type TurnBody } from "./conversation.ts";
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

function failure(code: ErrorCode, detail: string): LoopAnswer {
  return { kind: "error", body: { code, detail } };
}

function answerOf(outcome: TurnOutcome | CompactOutcome): LoopAnswer {
  switch (outcome.kind) {
    case "failed":
      return failure(outcome.code, outcome.detail);
    case "compacted":
      return { kind: "ok", body: {} };
    case "answered":
      return { kind: "turn_done", body: { content: outcome.content, usage: outcome.usage } };
    default:
      return unreachable(outcome);
  }
}

type Work = (emit: (event: TurnEvent) => void, signal: AbortSignal) => Promise<TurnOutcome | CompactOutcome>;

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
        await this.#answerCompact(data.body.session, reply);
        return;
      default:
        unreachable(data);
    }
  }

  async #answerTurn(body: TurnBody, reply: Reply<LoopAnswer>): Promise<void> {
    const { conversation, origin } = this.#dependencies;
    await this.#answerWork(body.session, (emit, signal) => conversation.run(origin, body, emit, signal), reply);
  }

  async #answerCompact(session: SessionId, reply: Reply<LoopAnswer>): Promise<void> {
    const { conversation, origin } = this.#dependencies;
    await this.#answerWork(session, (emit, signal) => conversation.compact(origin, session, emit, signal), reply);
  }

  /** Does what takes the session for itself: events as they come, then one end. */
  async #answerWork(session: SessionId, work: Work, reply: Reply<LoopAnswer>): Promise<void> {
    const { running, origin, events } = this.#dependencies;
    const taken = running.take(session, origin);
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
      () => events.clientDropped(session, "it has gone or reads too slowly; the turn goes on"),
    );
    events.turnStarted(session, origin);
    const outcome = await this.#run(work, outbox, taken.turn.signal);
    events.turnEnded(
      session,
      outcome.kind === "failed" ? outcome.code : outcome.kind,
      outcome.kind === "failed" ? outcome.detail : "",
    );
    // Free before the last frame: who has read it may send the next turn at once.
    taken.turn.release();
    if ((await outbox.drain()) === "sent") await reply(answerOf(outcome), true);
  }

  async #run(work: Work, outbox: EventOutbox, signal: AbortSignal): Promise<TurnOutcome | CompactOutcome> {
    const { events } = this.#dependencies;
    try {
      return await work((event) => outbox.push(event), signal);
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
      const found = await store.glance(session);
      if (found === undefined || !sees(origin, found.origin)) return undefined;
      return {
        session,
        turns: found.turns,
        busy: running.isRunning(session),
        updated: timestampFromMillis(Math.floor(found.modified)),
      };
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
