/** Forwards one client's bytes to the inference server and the answer back, until one of them is through. */
import type { Socket } from "node:net";
import type { Clock } from "@boxmaker/edge/log";
import { unreachable } from "@boxmaker/proto";
import { startDeadline } from "../deadline.ts";
import { errorCode } from "../error-code.ts";
import { type RefusalCause, refusalAnswer } from "../http/refusal-answer.ts";
import { RequestRefusedError, type RequestStream } from "../http/request-stream.ts";
import { answerThen } from "./answer-then.ts";
import type { Dialled } from "./dial-upstream.ts";
import { flushThen } from "./flush-then.ts";

/** How long making the connection to the inference server may take, TLS included. */
export const DIAL_MS = 10_000;

/** Why a connection ended; the first cause counts. */
export type BridgeEnd =
  | { readonly kind: "client-gone" }
  | { readonly kind: "upstream-ended" }
  | { readonly kind: "upstream-away"; readonly error: string }
  | { readonly kind: "upstream-broke"; readonly error: string }
  | { readonly kind: "request-refused"; readonly reason: string }
  | { readonly kind: "stopped" };

/** What {@link bridge} joins. */
export interface BridgeParts {
  readonly client: Socket;
  readonly upstream: Dialled;
  /** Rewrites what the client sends, or null to forward it byte by byte. */
  readonly requests: RequestStream | null;
  readonly clock: Clock;
  /** Called once, before the client can see that its connection is closed. Must not throw. */
  readonly beforeClose: () => void;
  readonly signal: AbortSignal;
}

const NOTHING = Buffer.alloc(0);

/**
 * Forwards in both directions as bytes come, as fast as the slower side reads.
 *
 * The client's end is passed on and the answer still flows. The inference server's end or error closes the client in full,
 * even while it sends, after what the server had sent. A client that is gone closes the server's connection at once. Where the
 * server can't be reached, or a connection's first request can't be forwarded, the client is told so over HTTP.
 */
export function bridge(parts: BridgeParts): Promise<BridgeEnd> {
  const { client, requests, clock, beforeClose, signal } = parts;
  const { socket: upstream, readyEvent } = parts.upstream;
  const done = Promise.withResolvers<BridgeEnd>();
  let ended = false;
  let connected = false;

  const closeClient = (): void => {
    beforeClose();
    client.destroy();
  };

  const refuse = (cause: RefusalCause, detail: string, end: BridgeEnd): void => {
    // The answer says that the connection ends, so its place is free from here on.
    beforeClose();
    answerThen(client, refusalAnswer(cause, detail), clock, () => {
      client.destroy();
      done.resolve(end);
    });
  };

  const finish = (end: BridgeEnd): void => {
    if (ended) {
      return;
    }
    ended = true;
    dialDeadline[Symbol.dispose]();
    client.unpipe();
    requests?.destroy();
    upstream.destroy();
    switch (end.kind) {
      case "upstream-ended":
      case "upstream-broke":
        flushThen(client, clock, () => {
          closeClient();
          done.resolve(end);
        });
        break;
      case "upstream-away":
        refuse("upstream-away", end.error, end);
        break;
      case "request-refused":
        if (requests?.hasForwarded === false) {
          refuse("request-refused", end.reason, end);
          break;
        }
        // The answer to an earlier request may be half through: nothing of ours can be put into it.
        closeClient();
        done.resolve(end);
        break;
      case "client-gone":
      case "stopped":
        closeClient();
        done.resolve(end);
        break;
      default:
        unreachable(end);
    }
  };

  const stop = (): void => {
    // Who stops doesn't wait for a client's last words either.
    if (ended) client.destroy();
    else finish({ kind: "stopped" });
  };
  const dialDeadline = startDeadline(clock, DIAL_MS, () => finish({ kind: "upstream-away", error: "ETIMEDOUT" }));
  signal.addEventListener("abort", stop);
  const forget = (): void => signal.removeEventListener("abort", stop);
  done.promise.then(forget, forget);

  upstream.once(readyEvent, () => {
    connected = true;
    dialDeadline[Symbol.dispose]();
  });
  upstream.once("end", () => finish({ kind: "upstream-ended" }));
  upstream.on("error", (error) => finish({ kind: connected ? "upstream-broke" : "upstream-away", error: errorCode(error) }));
  upstream.once("close", () => finish({ kind: "upstream-ended" }));
  upstream.pipe(client, { end: false });

  client.once("end", () => {
    // A peer that only stopped sending takes this empty write; for one that closed in full it fails at once with EPIPE.
    if (!ended) client.write(NOTHING);
  });
  client.on("error", () => finish({ kind: "client-gone" }));
  client.once("close", () => finish({ kind: "client-gone" }));
  if (requests === null) {
    client.pipe(upstream);
  } else {
    requests.on("error", (error) =>
      finish({ kind: "request-refused", reason: error instanceof RequestRefusedError ? error.reason : errorCode(error) }),
    );
    client.pipe(requests).pipe(upstream);
  }
  if (signal.aborted) {
    stop();
  }
  return done.promise;
}
