/** Real sockets on both sides of a proxy, and a proxy between them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLog } from "@boxmaker/edge/log";
import { Events } from "../../src/events.ts";
import { type ProxySettings, serve } from "../../src/socket/serve.ts";
import { parseUpstreamUrl, type Upstream } from "../../src/start/upstream-url.ts";
import { FakeClock } from "./fake-clock.ts";

/** A directory that is removed with all that is in it. */
export async function scratch(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "inferproxy-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Collects what a socket receives and lets a test wait for an amount or for the end. */
export class Reader {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  ended = false;
  error: string | null = null;
  #bytes = Buffer.alloc(0);
  #changed = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once("close", () => resolve());
    });
    const change = (): void => {
      this.#changed.resolve();
      this.#changed = Promise.withResolvers<void>();
    };
    socket.on("data", (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      change();
    });
    socket.once("end", () => {
      this.ended = true;
      change();
    });
    socket.once("close", change);
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.error = error.code ?? error.name;
    });
  }

  get text(): string {
    return this.#bytes.toString("latin1");
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Waits until `isThere` holds for what was received; fails if the socket closes before. */
  async until(isThere: (text: string) => boolean): Promise<void> {
    while (!isThere(this.text)) {
      assert.equal(this.socket.closed, false, `closed after ${JSON.stringify(this.text)}`);
      await this.#changed.promise;
    }
  }

  /** Waits for the peer's end of sending, or of the connection. */
  async untilEnd(): Promise<void> {
    while (!this.ended) {
      if (this.socket.closed) {
        return;
      }
      await this.#changed.promise;
    }
  }
}

/** Waits until `reader`'s peer has closed in both directions: a write then fails, which a peer that only stopped sending would take. */
export async function untilClosedInFull(reader: Reader): Promise<void> {
  await reader.untilEnd();
  reader.socket.write("x");
  await reader.closed;
  assert.match(reader.error ?? "none", /^(EPIPE|ECONNRESET)$/u);
}

/** An inference server that is moved by the test: each connection is given out in order. */
export class ScriptedUpstream implements AsyncDisposable {
  readonly server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ready: Reader[] = [];
  readonly #waiting: ((reader: Reader) => void)[] = [];
  count = 0;

  constructor(server: Server, event = "connection") {
    this.server = server;
    server.on("connection", (socket: Socket) => this.#sockets.add(socket));
    server.on(event, (socket: Socket) => {
      this.count += 1;
      const reader = new Reader(socket);
      const waiting = this.#waiting.shift();
      if (waiting === undefined) {
        this.#ready.push(reader);
      } else {
        waiting(reader);
      }
    });
  }

  static async start(): Promise<ScriptedUpstream> {
    const upstream = new ScriptedUpstream(createServer({ allowHalfOpen: true }));
    await upstream.listen();
    return upstream;
  }

  async listen(): Promise<void> {
    this.server.listen({ host: "127.0.0.1", port: 0 });
    await once(this.server, "listening");
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The next connection, in the order in which they came. */
  next(): Promise<Reader> {
    const ready = this.#ready.shift();
    if (ready !== undefined) {
      return Promise.resolve(ready);
    }
    const waiting = Promise.withResolvers<Reader>();
    this.#waiting.push(waiting.resolve);
    return waiting.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
    this.server.close();
    await once(this.server, "close");
  }
}

/** A proxy that runs in this process, on a socket in a directory of its own. */
export interface RunningProxy extends AsyncDisposable {
  readonly path: string;
  readonly clock: FakeClock;
  readonly log: readonly string[];
  /** Resolves when a log line that contains `part` has been written. */
  logged(part: string): Promise<void>;
  connect(): Reader;
}

/** Waits until `upstream` at a loopback port is served by a proxy; `settings` replaces the defaults. */
export async function startProxy(
  upstream: string,
  settings: Partial<Pick<ProxySettings, "ca" | "apiKey" | "limits">> = {},
): Promise<RunningProxy> {
  const directory = await scratch();
  const path = join(directory.path, "run", "infer.sock");
  const clock = new FakeClock();
  const log: string[] = [];
  const waiting = new Map<string, () => void>();
  const events = new Events(
    openLog(
      (line) => {
        log.push(line.trimEnd());
        for (const [part, resolve] of waiting) {
          if (line.includes(part)) {
            resolve();
          }
        }
      },
      () => clock.now(),
    ),
  );
  const result = await serve({
    listenPath: path,
    upstream: parseUpstreamUrl(upstream) as Upstream,
    ca: null,
    apiKey: null,
    limits: { maxConnections: 8, ratePerSecond: 1, burst: 100 },
    clock,
    events,
    ...settings,
  });
  assert.ok(result.kind === "serving");
  const clients = new Set<Socket>();
  return {
    path,
    clock,
    log,
    logged: async (part) => {
      if (!log.some((line) => line.includes(part))) {
        const written = Promise.withResolvers<undefined>();
        waiting.set(part, () => written.resolve(undefined));
        await written.promise;
      }
    },
    connect: () => {
      const client = connect({ path, allowHalfOpen: true });
      clients.add(client);
      return new Reader(client);
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) {
        client.destroy();
      }
      await result.proxy[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
