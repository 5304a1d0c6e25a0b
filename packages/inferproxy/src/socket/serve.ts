/** Takes clients on the socket, within the limits, and joins each to a connection of its own to the inference server. */
import type { Socket } from "node:net";
import type { Clock } from "@boxmaker/edge/log";
import { listenUnix } from "@boxmaker/edge/socket";
import { unreachable } from "@boxmaker/proto";
import { errorCode } from "../error-code.ts";
import type { Events } from "../events.ts";
import { RequestEditor } from "../http/request-editor.ts";
import { RequestStream } from "../http/request-stream.ts";
import { ConnectionLimits, type Limits, type Place } from "../limits/connection-limits.ts";
import type { ApiKey } from "../start/api-key.ts";
import type { StartRefusal } from "../start/refusal.ts";
import type { Upstream } from "../start/upstream-url.ts";
import { type BridgeEnd, bridge } from "./bridge.ts";
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

/** A listening proxy. Disposing of it closes every connection and removes the socket. */
export interface Proxy extends AsyncDisposable {
  /** Resolves when it was disposed of; rejects when its listener ended by itself. */
  readonly closed: Promise<void>;
}

/** A listening proxy, or why it could not start. */
export type ServeResult =
  | { readonly kind: "serving"; readonly proxy: Proxy }
  | { readonly kind: "refused"; readonly refusal: StartRefusal };

/** Listens on the socket and forwards until disposed of. */
export async function serve(settings: ProxySettings): Promise<ServeResult> {
  const connections = new Connections(settings);
  const listening = await listenUnix({
    path: settings.listenPath,
    // Connections are counted here, where the place is free before the client can see its close.
    maxConnections: Number.MAX_SAFE_INTEGER,
    onConnection: (client) => connections.take(client),
    onError: (error) => settings.events.listenerError(errorCode(error)),
  });
  if (listening.kind === "refused") {
    return { kind: "refused", refusal: { message: listening.problem, runbook: "docs/runbook.md#inferproxy-socket" } };
  }
  const { server } = listening;
  const proxy: Proxy = {
    closed: server.closed,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await connections[Symbol.asyncDispose]();
      await server.closed;
    },
  };
  return { kind: "serving", proxy };
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
