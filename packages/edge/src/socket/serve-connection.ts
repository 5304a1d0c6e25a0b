/** The server's side of a connection: one request read within a deadline, its answers, the end. */
import type { Socket } from "node:net";
import { type AnyMessage, type Envelope, ErrorMessage, encodeMessage } from "@boxmaker/proto";
import type { z } from "zod";
import type { ByteBudget } from "./byte-budget.ts";
import { type Incoming, MessageStream } from "./message-stream.ts";

/** `gone`: the peer has closed, failed, or didn't take the answer in time; the connection is closed then. */
export type Delivery = "sent" | "gone";

/** Sends one answer to the request; resolves when the kernel has it. After a final one the connection ends. Never rejects. */
export type Reply<A> = (message: A, final: boolean) => Promise<Delivery>;

/** Why a connection brought no request. `stalled`: nothing whole within the deadline. `limit`: too many bytes are held already. */
export type RequestFault = "bad_frame" | "bad_version" | "bad_message" | "limit" | "stalled";

export interface ConnectionHandler<R extends AnyMessage, A extends AnyMessage> {
  readonly requests: z.ZodType<R>;
  readonly answers: z.ZodType<A>;
  /** From accept to the whole request, in milliseconds. */
  readonly readDeadlineMs: number;
  /** For the peer to take one answer, in milliseconds. */
  readonly writeDeadlineMs: number;
  /** What the connections that share it may hold, together; a request past it is answered `limit`. */
  readonly budget?: ByteBudget;
  /**
   * Answers one request, ending with a final answer. `signal` aborts when the peer has closed or sent anything more. When it returns
   * without a final answer, the connection is closed.
   */
  readonly handle: (envelope: Envelope<R>, reply: Reply<A>, signal: AbortSignal) => Promise<void>;
  /** Called once for a connection that brought no readable request; `detail` is printable. */
  readonly onFault: (fault: RequestFault, detail: string) => void;
  /** Called with what `handle` threw: a bug. The connection is closed without a final answer. */
  readonly onBug: (error: unknown) => void;
}

function write(socket: Socket, frame: Buffer, deadlineMs: number): Promise<Delivery> {
  if (socket.destroyed || !socket.writable) return Promise.resolve("gone");
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish("gone"), deadlineMs);
    const onClose = (): void => finish("gone");
    const finish = (delivery: Delivery): void => {
      clearTimeout(timer);
      socket.off("close", onClose);
      if (delivery === "gone") socket.destroy();
      resolve(delivery);
    };
    socket.once("close", onClose);
    socket.write(frame, (error) => finish(error === null || error === undefined ? "sent" : "gone"));
  });
}

/**
 * Serves one request on one connection and ends it. Never rejects: faults go to the handler's callbacks.
 *
 * An unreadable request is answered `error` with id 0; a connection that closes before its first byte is answered with nothing.
 */
export async function serveConnection<R extends AnyMessage, A extends AnyMessage>(
  socket: Socket,
  handler: ConnectionHandler<R, A>,
): Promise<void> {
  const stream = new MessageStream(socket, handler.requests, handler.budget);
  const timer = setTimeout(() => {
    handler.onFault("stalled", "no whole request within the deadline");
    socket.destroy();
  }, handler.readDeadlineMs);
  const incoming = await stream.next();
  clearTimeout(timer);

  if (incoming.kind === "closed" || socket.destroyed) {
    socket.destroy();
    return;
  }
  if (incoming.kind !== "message" || !incoming.envelope.final) {
    const fault = faultOf(incoming.kind);
    const detail = detailOf(incoming);
    handler.onFault(fault, detail);
    const error = { kind: "error" as const, body: { code: fault, detail } };
    await write(socket, encodeMessage(ErrorMessage, { id: 0, final: true, message: error }), handler.writeDeadlineMs);
    socket.destroySoon();
    return;
  }

  const { envelope } = incoming;
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  // The end of its stream or one more byte: either way it is no longer a peer that waits, and nothing more of it is read.
  const leave = (): void => {
    gone.abort();
    socket.pause();
  };
  if (stream.hasMore) leave();
  socket.once("data", leave);
  stream.next().then(leave, leave);
  let finished = false;
  const reply: Reply<A> = async (message, final) => {
    if (finished) return "gone";
    const frame = encodeMessage(handler.answers, { id: envelope.id, final, message });
    if (final) finished = true;
    const delivery = await write(socket, frame, handler.writeDeadlineMs);
    if (final) socket.destroySoon();
    return delivery;
  };
  try {
    await handler.handle(envelope, reply, gone.signal);
  } catch (error) {
    // Fails closed: without a final answer the peer counts the call as failed.
    handler.onBug(error);
  } finally {
    if (!finished) socket.destroy();
  }
}

type Unreadable = Exclude<Incoming<AnyMessage>, { kind: "closed" }>;

function detailOf(incoming: Unreadable): string {
  switch (incoming.kind) {
    case "message":
      return "a request that is not final";
    case "truncated":
      return "cut short";
    case "over_budget":
      return "too many bytes are being read at the same time, try again";
    case "too_large":
    case "bad_frame":
    case "bad_version":
    case "bad_message":
      return incoming.detail;
    default:
      return incoming satisfies never;
  }
}

function faultOf(kind: Unreadable["kind"]): Exclude<RequestFault, "stalled"> {
  switch (kind) {
    case "bad_version":
      return "bad_version";
    case "message":
    case "bad_message":
      return "bad_message";
    case "over_budget":
      return "limit";
    case "truncated":
    case "too_large":
    case "bad_frame":
      return "bad_frame";
    default:
      return kind satisfies never;
  }
}
