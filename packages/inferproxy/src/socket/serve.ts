/** Takes clients on the socket, within the limits, and joins each to a connection of its own to the inference server. */
import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { quoteText, unreachable } from "@boxmaker/proto";
import { errorCode } from "../error-code.ts";
import type { Events } from "../events.ts";
import { RequestEditor } from "../http/request-editor.ts";
import { RequestStream } from "../http/request-stream.ts";
import { ConnectionLimits, type Limits, type Place } from "../limits/connection-limits.ts";
import type { Clock } from "../real/clock.ts";
import type { ApiKey } from "../start/api-key.ts";
import type { StartRefusal } from "../start/refusal.ts";
import type { Upstream } from "../start/upstream-url.ts";
import { type BridgeEnd, bridge } from "./bridge.ts";
import { claimSocketPath, inUse } from "./claim-socket-path.ts";
import { dialUpstream } from "./dial-upstream.ts";

/** Everything that a running proxy needs. */
export interface ProxySettings {
  /** Absolute path of the socket. */
  readonly listenPath: string;
  readonly upstream: Upstream;
  /** Certificates to trust instead of the built-in ones (PEM), or null. */
  readonly ca: string | null;
  /** With a key, HTTP requests are read and the key put into each; without, bytes go through untouched. */
  readonly apiKey: ApiKey | null;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly events: Events;
}

/** A listening proxy, or why it could not start. Disposing of it closes every connection and removes the socket. */
export type ServeResult =
  | { readonly kind: "serving"; readonly proxy: AsyncDisposable }
  | { readonly kind: "refused"; readonly refusal: StartRefusal };

/** Claims the socket's path, listens there and forwards until disposed of. */
export async function serve(settings: ProxySettings): Promise<ServeResult> {
  const claim = await claimSocketPath(settings.listenPath);
  if (claim.kind === "refused") {
    return claim;
  }
  const connections = new Connections(settings);
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => connections.take(client));
  const failure = await listen(server, settings.listenPath);
  if (failure !== undefined) {
    return { kind: "refused", refusal: failure };
  }
  server.on("error", (error) => settings.events.listenerFailed(errorCode(error)));
  const proxy: AsyncDisposable = {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await connections[Symbol.asyncDispose]();
      await closed;
    },
  };
  return { kind: "serving", proxy };
}

async function listen(server: Server, path: string): Promise<StartRefusal | undefined> {
  try {
    server.listen({ path });
    await once(server, "listening");
    await chmod(path, 0o600);
    return undefined;
  } catch (error) {
    // Nothing is forwarded from a socket that could not be bound and closed to others.
    server.close();
    if (errorCode(error) === "EADDRINUSE") {
      return inUse(path);
    }
    return { message: `cannot listen on ${quoteText(path)} (${errorCode(error)})`, runbook: "docs/runbook.md#inferproxy-socket" };
  }
}

/** The open connections. */
class Connections implements AsyncDisposable {
  readonly #settings: ProxySettings;
  readonly #limits: ConnectionLimits;
  readonly #stop = new AbortController();
  readonly #open = new Set<Promise<void>>();
  #count = 0;

  constructor(settings: ProxySettings) {
    this.#settings = settings;
    this.#limits = new ConnectionLimits(settings.clock, settings.limits);
  }

  take(client: Socket): void {
    const admission = this.#limits.admit();
    if (admission.kind === "refused") {
      client.destroy();
      if (admission.firstInRow) {
        this.#settings.events.connectionRefused(admission.reason);
      }
      return;
    }
    this.#count += 1;
    const connection = this.#forward(client, admission.place, this.#count).then(() => {
      this.#open.delete(connection);
    });
    this.#open.add(connection);
  }

  async #forward(client: Socket, place: Place, connection: number): Promise<void> {
    const { upstream, ca, apiKey, clock } = this.#settings;
    const end = await bridge({
      client,
      upstream: dialUpstream(upstream, ca),
      requests:
        apiKey === null
          ? null
          : new RequestStream(new RequestEditor({ host: upstream.authority, authorization: apiKey.authorization() })),
      clock,
      beforeClose: () => place.free(),
      signal: this.#stop.signal,
    });
    this.#report(connection, end);
  }

  #report(connection: number, end: BridgeEnd): void {
    const { events, upstream } = this.#settings;
    switch (end.kind) {
      case "upstream-away":
        events.upstreamAway(connection, upstream.url, end.error);
        break;
      case "upstream-broke":
        events.upstreamBroke(connection, end.error);
        break;
      case "request-refused":
        events.requestRefused(connection, end.reason);
        break;
      case "client-gone":
      case "upstream-ended":
      case "stopped":
        break;
      default:
        unreachable(end);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#open);
  }
}
