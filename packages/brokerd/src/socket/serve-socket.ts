/** One of brokerd's sockets: which kinds it takes, and who answers them. */

import type { Socket } from "node:net";
import { type Delivery, type Listening, listenUnix, serveConnection } from "@boxmaker/edge/socket";
import { type AbsPath, type AnyMessage, AnyRequest, type Envelope, type ErrorMessage } from "@boxmaker/proto";
import type { z } from "zod";
import type { Events, SocketName } from "../events.ts";

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

export interface SocketLimits {
  readonly connections: number;
  readonly readDeadlineMs: number;
  readonly writeDeadlineMs: number;
}

function isKind<K extends AnyRequest["kind"]>(
  request: AnyRequest,
  kinds: readonly K[],
): request is Extract<AnyRequest, { kind: K }> {
  return kinds.some((kind) => kind === request.kind);
}

const FORBIDDEN: ErrorMessage = {
  kind: "error",
  body: { code: "forbidden", detail: "this kind of request doesn't belong on this socket" },
};

/** Serves one socket. Every open connection is kept in `open` until it has ended. */
export function serveSocket<K extends AnyRequest["kind"], A extends AnyMessage>(
  served: ServedSocket<K, A | ErrorMessage>,
  limits: SocketLimits,
  events: Events,
  open: Set<Socket>,
): Promise<Listening> {
  const handle = async (envelope: Envelope<AnyRequest>, send: Send<A | ErrorMessage>, gone: AbortSignal): Promise<void> => {
    const { message } = envelope;
    if (isKind(message, served.kinds)) {
      await served.handle(message, send, gone);
      return;
    }
    events.forbidden(served.name, message.kind);
    await send(FORBIDDEN, true);
  };
  return listenUnix({
    path: served.path,
    maxConnections: limits.connections,
    onRefused: () => events.connectionRefused(served.name),
    onError: (error) => events.listenerError(served.name, error.message),
    onConnection: (socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      serveConnection(socket, {
        requests: AnyRequest,
        answers: served.answers,
        readDeadlineMs: limits.readDeadlineMs,
        writeDeadlineMs: limits.writeDeadlineMs,
        handle,
        onFault: (fault, detail) => events.badRequest(served.name, fault, detail),
        onBug: (error) => events.bug(`${served.name}.sock`, error),
      }).catch((error: unknown) => events.bug(`${served.name}.sock`, error));
    },
  });
}
