/** The egress proxy: the one way out of a fetch's box. It resolves and judges by itself, so that no client can say where it dials. */
import { createServer, type Server, type Socket } from "node:net";
import { matchesHostName } from "@boxmaker/proto";
import { errorCode } from "../system-error.ts";
import { readClientHello } from "./client-hello.ts";
import type { Dial } from "./dial.ts";
import { judgeAddress, type PublicAddress } from "./judge-address.ts";
import type { LookUp } from "./look-up.ts";
import { encodeReply, REPLY, type Reply, readSocksRequest } from "./socks-request.ts";
import { joinSockets } from "./tunnel.ts";

/**
 * In milliseconds. `handshakeMs` is from accepting a connection to its first byte that is passed on; after that only silence counts, of
 * `idleMs`. `unusedMs`: how long a proxy without any connection is of use.
 */
export interface ProxyLimits {
  readonly handshakeMs: number;
  readonly idleMs: number;
  readonly unusedMs: number;
  readonly connections: number;
}

/** What the program uses. Unused for longer than brokerd keeps any proxy (an hour at most), it has lost whoever would end it. */
export const PROXY_LIMITS: ProxyLimits = { handshakeMs: 10_000, idleMs: 5 * 60_000, unusedMs: 70 * 60_000, connections: 64 };

/** Everything that the proxy needs of the world. */
export interface ProxyOptions {
  /** Where to listen: nothing may be there yet. */
  readonly socketPath: string;
  /** Patterns of host names that may be reached. */
  readonly allow: readonly string[];
  readonly lookUp: LookUp;
  readonly dial: Dial;
  /** Is given one line for each thing that happened. It holds nothing that a client made up but host names of the grammar. */
  readonly log: (line: string) => void;
  readonly limits: ProxyLimits;
}

const PORTS: ReadonlySet<number> = new Set([80, 443]);
const TLS_PORT = 443;
const PRIVATE_UMASK = 0o177;

/** Whether it listens; `problem` is one phrase. */
export type ProxyOpening =
  | { readonly kind: "listening"; readonly proxy: EgressProxy }
  | { readonly kind: "refused"; readonly problem: string };

/** A listening proxy. Disposing it ends all of its connections and removes its socket. */
export class EgressProxy implements AsyncDisposable {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #stopping = new AbortController();
  readonly #unused = Promise.withResolvers<void>();
  #accepted = 0;
  #isFull = false;

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    this.#server.maxConnections = options.limits.connections;
    this.#server.on("drop", () => this.#onDrop());
  }

  /** Listens, or says why it can't. */
  static async open(options: ProxyOptions): Promise<ProxyOpening> {
    const proxy = new EgressProxy(options);
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    proxy.#server.on("error", (error) => {
      const code = errorCode(error) ?? error.message;
      if (proxy.#server.listening) options.log(`accepting failed with ${code}`);
      resolve(code === "EADDRINUSE" ? "something is there already" : `failed with ${code}`);
    });
    // The socket is made within the call: it never has another mode.
    const before = process.umask(PRIVATE_UMASK);
    proxy.#server.listen(options.socketPath, () => resolve(undefined));
    process.umask(before);
    const problem = await promise;
    proxy.#awaitUse();
    return problem === undefined ? { kind: "listening", proxy } : { kind: "refused", problem };
  }

  /** One line for a run of refusals: whoever opens a thousand connections doesn't get a thousand lines. */
  #onDrop(): void {
    if (!this.#isFull) this.#options.log(`refused a connection: ${this.#options.limits.connections} are open`);
    this.#isFull = true;
  }

  /** Resolves once nobody has used it for long: whoever started it may be gone. */
  get unused(): Promise<void> {
    return this.#unused.promise;
  }

  #awaitUse(): void {
    const before = this.#accepted;
    AbortSignal.timeout(this.#options.limits.unusedMs).addEventListener("abort", () => {
      if (this.#accepted === before && this.#open.size === 0) this.#unused.resolve();
    });
  }

  #own(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      if (this.#open.size === 0) this.#awaitUse();
    });
    // Every error is followed by its end, and that's what counts.
    socket.on("error", () => undefined);
  }

  #accept(client: Socket): void {
    this.#isFull = false;
    this.#accepted++;
    this.#own(client);
    this.#serve(client).catch((error: unknown) => {
      // A bug: this connection ends, and others go on.
      this.#options.log(`failed: ${error instanceof Error ? error.name : "unknown error"}`);
      client.destroy();
    });
  }

  async #serve(client: Socket): Promise<void> {
    const { handshakeMs, idleMs } = this.#options.limits;
    const deadline = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(handshakeMs)]);
    const request = await readSocksRequest(client, deadline);
    if (request.kind === "refused") return this.#refuse(client, request.answer, request.why, deadline);
    const { host, port } = request;
    const target = `${host}:${port}`;
    const isGranted = PORTS.has(port) && this.#options.allow.some((pattern) => matchesHostName(pattern, host));
    if (!isGranted) return this.#decline(client, REPLY.policy, `${target}: not granted`, deadline);
    const { address, seen } = await this.#findPublic(host, deadline);
    if (address === undefined) {
      const why = `${target}: none of ${seen} addresses is public`;
      return this.#decline(client, REPLY.noPublicAddress, why, deadline);
    }
    const upstream = await this.#options.dial(address, port, deadline);
    if (upstream === undefined) {
      return this.#decline(client, REPLY.connectFailed, `${target}: ${address.address} doesn't answer`, deadline);
    }
    this.#own(upstream);
    // Nobody may have waited for it.
    if (client.destroyed || deadline.aborted) {
      upstream.destroy();
      client.destroy();
      return;
    }
    client.write(encodeReply(REPLY.succeeded));
    if (port === TLS_PORT) {
      const hello = await readClientHello(client, deadline);
      if (hello?.name?.toLowerCase() !== host) {
        upstream.destroy();
        return this.#refuse(client, null, `${target}: expected a TLS client that asks for this host`, deadline);
      }
      upstream.write(hello.bytes);
    }
    this.#options.log(`connected ${target} at ${address.address}`);
    joinSockets(client, upstream, idleMs);
  }

  /**
   * Of a mixed answer the first public address, and no other: a second look or a second try could lead elsewhere. IPv6 is asked about
   * only where it's needed, since some name servers never answer that.
   */
  async #findPublic(
    host: string,
    deadline: AbortSignal,
  ): Promise<{ readonly address: PublicAddress | undefined; readonly seen: number }> {
    let seen = 0;
    for (const family of [4, 6] as const) {
      const answers = await this.#options.lookUp(host, family, deadline);
      for (const answer of answers) {
        seen++;
        const address = judgeAddress(answer);
        if (address !== undefined) return { address, seen };
      }
    }
    return { address: undefined, seen };
  }

  #decline(client: Socket, reply: Reply, why: string, deadline: AbortSignal): void {
    this.#refuse(client, encodeReply(reply), why, deadline);
  }

  /** Says no and hangs up. What the client still sends is thrown away, until it has hung up too or the deadline has passed. */
  #refuse(client: Socket, answer: Buffer | null, why: string, deadline: AbortSignal): void {
    this.#options.log(`refused ${why}`);
    const hangUp = (): void => void client.destroy();
    if (answer === null) {
      hangUp();
    } else if (deadline.aborted) {
      client.end(answer, hangUp);
    } else {
      deadline.addEventListener("abort", hangUp, { once: true });
      client.end(answer);
      client.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    for (const socket of this.#open) socket.destroy();
    await closed.promise;
  }
}
