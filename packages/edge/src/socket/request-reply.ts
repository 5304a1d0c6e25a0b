/** The requester's side of a connection: one request, its answers, the end. */
import { type AnyMessage, encodeMessage } from "@boxmaker/proto";
import type { z } from "zod";
import { ConnectError, type ConnectFailure, connectUnix } from "./connect-unix.ts";
import { MessageStream } from "./message-stream.ts";

/**
 * Why there is no final answer. `absent`, `refused`: nothing was sent. `timeout` before connecting: nothing was sent either; after
 * that, and for all others, whether the peer acted is unknown.
 */
export type ExchangeFailure =
  | ConnectFailure
  | "closed"
  | "truncated"
  | "too_large"
  | "bad_frame"
  | "bad_version"
  | "bad_message"
  | "wrong_id";

export class ExchangeError extends Error {
  override readonly name = "ExchangeError";
  readonly code: ExchangeFailure;
  /** Whether the request may have reached the peer. */
  readonly sent: boolean;

  constructor(code: ExchangeFailure, sent: boolean, detail: string, cause?: unknown) {
    super(`the exchange ended without a final answer: ${detail}`, { cause });
    this.code = code;
    this.sent = sent;
  }
}

/** One answer; `final` is true on the last. */
export interface Answer<A> {
  readonly final: boolean;
  readonly message: A;
}

export interface Exchange<R extends AnyMessage, A extends AnyMessage> {
  readonly requests: z.ZodType<R>;
  readonly answers: z.ZodType<A>;
  readonly message: R;
  /** The deadline of the whole exchange, or its cancellation; aborting closes the connection. */
  readonly signal: AbortSignal;
}

const REQUEST_ID = 1;

/**
 * Sends one request and yields its answers up to the final one, then closes the connection. Leaving the loop early closes it too.
 *
 * A final answer that has arrived counts, whatever the connection does afterwards.
 *
 * @throws {ExchangeError} when there is no final answer, or the signal aborts
 */
export async function* requestReply<R extends AnyMessage, A extends AnyMessage>(
  path: string,
  exchange: Exchange<R, A>,
): AsyncGenerator<Answer<A>, void, undefined> {
  const { signal } = exchange;
  const frame = encodeMessage(exchange.requests, { id: REQUEST_ID, final: true, message: exchange.message });
  const socket = await connectUnix(path, { signal }).catch((error: unknown) => {
    if (error instanceof ConnectError) throw new ExchangeError(error.code, false, error.message, error);
    throw error;
  });
  const abort = (): void => {
    socket.destroy();
  };
  try {
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const stream = new MessageStream(socket, exchange.answers);
    socket.write(frame);
    for (;;) {
      const incoming = await stream.next();
      if (incoming.kind !== "message") {
        if (signal.aborted)
          throw new ExchangeError("timeout", true, "the deadline passed or the wait was cancelled", signal.reason);
        const detail = "detail" in incoming ? incoming.detail : "the peer closed the connection";
        throw new ExchangeError(incoming.kind === "over_budget" ? "too_large" : incoming.kind, true, detail);
      }
      const { id, final, message } = incoming.envelope;
      // An error with id 0 answers a request that the peer couldn't read.
      if (id !== REQUEST_ID && !(id === 0 && message.kind === "error")) {
        throw new ExchangeError("wrong_id", true, `expected an answer to request ${REQUEST_ID}, got ${id}`);
      }
      yield { final, message };
      if (final) return;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  }
}

/**
 * Sends one request and returns its final answer.
 *
 * @throws {ExchangeError} as {@link requestReply}
 */
export async function requestFinal<R extends AnyMessage, A extends AnyMessage>(path: string, exchange: Exchange<R, A>): Promise<A> {
  let last: A | undefined;
  for await (const answer of requestReply(path, exchange)) last = answer.message;
  if (last === undefined) throw new ExchangeError("closed", true, "no answer came");
  return last;
}
