/** One of brokerd's sockets: which kinds it takes, and who answers them. */
import type { Socket } from "node:net";
import { ByteBudget, type Delivery, type Listening, listenUnix, serveConnection } from "@boxmaker/edge/socket";
import {
  type AbsPath,
  type AnyMessage,
  AnyRequest,
  type Envelope,
  type ErrorCode,
  ErrorMessage,
  encodeMessage,
} from "@boxmaker/proto";
import type { z } from "zod";
import type { Events, SocketName } from "../events.ts";
import type { Connections } from "./connections.ts";

/** Sends one answer; resolves to `gone` where the peer didn't take it. */
export type Send<A> = (message: A, final: boolean) => Promise<Delivery>;

export interface ServedSocket<K extends AnyRequest["kind"], A extends AnyMessage> {
  readonly name: SocketName;
  readonly path: AbsPath;
  readonly answers: z.ZodType<A>;
  /** The kinds that belong on this socket; every other kind is `forbidden`. */
  readonly kinds: readonly K[];
  readonly handle: (request: Extract<AnyRequest, { kind: K }>, send: Send<A>, gone: AbortSignal) => Promise<void>;
}

/** What one socket may take on at the same time. */
export interface SocketLimits {
  readonly connections: number;
  readonly bytesInFlight: number;
  readonly readDeadlineMs: number;
  readonly writeDeadlineMs: number;
}

function isKind<K extends AnyRequest["kind"]>(
  request: AnyRequest,
  kinds: readonly K[],
): request is Extract<AnyRequest, { kind: K }> {
  return kinds.some((kind) => kind === request.kind);
}

function error(code: ErrorCode, detail: string): ErrorMessage {
  return { kind: "error", body: { code, detail } };
}

const FORBIDDEN = error("forbidden", "this kind of request doesn't belong on this socket");
const INTERNAL = error("internal", "the request failed in brokerd; its log has the cause; see docs/runbook.md#brokerd-bug");
const BUSY = encodeMessage(ErrorMessage, {
  id: 0,
  final: true,
  message: error("busy", "too many connections are open at the same time, try again; see docs/runbook.md#too-many-connections"),
});

/**
 * Serves one socket. Every open connection is kept in `connections` until it has ended.
 *
 * @param limits asked for each connection: those that are open keep the deadlines that they began with
 */
export function serveSocket<K extends AnyRequest["kind"], A extends AnyMessage>(
  served: ServedSocket<K, A | ErrorMessage>,
  limits: () => SocketLimits,
  events: Events,
  connections: Connections,
): Promise<Listening> {
  const { name, kinds } = served;
  const budget = new ByteBudget(() => limits().bytesInFlight);
  let isRefusing = false;

  const answer = async (message: AnyRequest, send: Send<A | ErrorMessage>, gone: AbortSignal): Promise<void> => {
    if (!isKind(message, kinds)) {
      events.forbidden(name, message.kind);
      await send(FORBIDDEN, true);
      return;
    }
    try {
      await served.handle(message, send, gone);
    } catch (cause) {
      // A bug, for this request only: whoever asked is told that there is no answer, and nothing was released.
      events.bug(`${name}.sock`, cause);
      await send(INTERNAL, true);
    }
  };
  const onConnection = (socket: Socket): void => {
    isRefusing = false;
    const { readDeadlineMs, writeDeadlineMs } = limits();
    const handle = async ({ message }: Envelope<AnyRequest>, send: Send<A | ErrorMessage>, gone: AbortSignal): Promise<void> => {
      const answered = connections.answering(socket);
      try {
        await answer(message, send, gone);
      } finally {
        answered();
      }
    };
    const life = serveConnection(socket, {
      requests: AnyRequest,
      answers: served.answers,
      readDeadlineMs,
      writeDeadlineMs,
      budget,
      handle,
      onFault: (fault, detail) => events.badRequest(name, fault, detail),
      onBug: (cause) => events.bug(`${name}.sock`, cause),
    });
    connections.add(
      socket,
      life.catch((cause: unknown) => events.bug(`${name}.sock`, cause)),
    );
  };
  return listenUnix({
    path: served.path,
    get maxConnections() {
      return limits().connections;
    },
    onConnection,
    onRefused: (socket) => {
      socket.write(BUSY);
      // One line for a flood, not one for each of its connections.
      if (!isRefusing) events.connectionRefused(name);
      isRefusing = true;
    },
    onError: (cause) => events.listenerError(name, cause.message),
  });
}
