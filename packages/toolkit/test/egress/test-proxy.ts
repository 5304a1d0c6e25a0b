/** A proxy whose names and connections lead to the test's own servers. Only the constructor can do that: the program can't. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { ByteReader } from "../../src/egress/byte-reader.ts";
import { dialDirectly } from "../../src/egress/dial.ts";
import { EgressProxy, PROXY_LIMITS, type ProxyLimits, type ProxyOptions } from "../../src/egress/egress-proxy.ts";
import type { PublicAddress } from "../../src/egress/judge-address.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** An address that the judge takes for public. */
export const PUBLIC = "93.184.216.34";

export interface Setup {
  readonly allow?: readonly string[];
  /** What every name resolves to, or how. */
  readonly answers?: readonly string[] | ProxyOptions["lookUp"];
  /** The loopback port that stands for every port of every address; none: nothing answers. */
  readonly upstream?: number | ((port: number) => number);
  readonly dial?: ProxyOptions["dial"];
  readonly limits?: Partial<ProxyLimits>;
}

export interface TestProxy extends AsyncDisposable {
  readonly proxy: EgressProxy;
  readonly path: string;
  readonly log: readonly string[];
  readonly dialled: readonly PublicAddress[];
}

/** What a name server would say of these to a question about one kind of address. */
export function ofFamily(answers: readonly string[], family: 4 | 6): readonly string[] {
  return answers.filter((answer) => answer.includes(":") === (family === 6));
}

/** Opens one in a folder of its own. */
export async function openTestProxy(setup: Setup = {}): Promise<TestProxy> {
  const folder = temporaryFolder();
  const path = `${folder.path}/proxy.sock`;
  const log: string[] = [];
  const dialled: PublicAddress[] = [];
  const { answers = [PUBLIC], upstream } = setup;
  const portFor = typeof upstream === "function" ? upstream : (): number | undefined => upstream;
  const opening = await EgressProxy.open({
    socketPath: path,
    allow: setup.allow ?? ["example.com"],
    lookUp: typeof answers === "function" ? answers : (_, family) => Promise.resolve(ofFamily(answers, family)),
    dial: (address, port, signal) => {
      dialled.push(address);
      if (setup.dial !== undefined) return setup.dial(address, port, signal);
      const local = portFor(port);
      return local === undefined ? Promise.resolve(undefined) : dialDirectly({ address: "127.0.0.1", family: 4 }, local, signal);
    },
    log: (line) => log.push(line),
    limits: { ...PROXY_LIMITS, ...setup.limits },
  });
  assert.ok(opening.kind === "listening");
  const { proxy } = opening;
  return {
    proxy,
    path,
    log,
    dialled,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** Connects to a proxy's socket. Errors are for `close` to tell. */
export async function connectClient(path: string): Promise<Socket> {
  const client = connect({ path, allowHalfOpen: true });
  client.on("error", () => undefined);
  await once(client, "connect");
  return client;
}

/** A CONNECT of SOCKS5 as bytes, greeting included. */
export function connectRequest(host: string, port: number): Buffer {
  const name = Buffer.from(host, "latin1");
  return Buffer.from([5, 1, 0, 5, 1, 0, 3, name.length, ...name, port >> 8, port & 255]);
}

/** Everything that comes until the other side has ended or the connection is gone. */
export async function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once("end", resolve).once("close", resolve);
  await promise;
  return Buffer.concat(chunks);
}

/** Sends bytes, hangs up, and returns what comes back as hex. */
export async function exchange(path: string, bytes: Buffer): Promise<string> {
  const client = await connectClient(path);
  client.write(bytes);
  const answer = await readToEnd(client);
  client.destroy();
  return answer.toString("hex");
}

/** Reads exactly that many bytes. */
export async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  using reader = new ByteReader(socket, new AbortController().signal);
  const bytes = await reader.read(count);
  assert.ok(bytes !== undefined, "ended early");
  return bytes;
}

/** Connects through the proxy, up to where bytes are passed on. */
export async function connectThrough(path: string, host: string, port: number): Promise<Socket> {
  const client = await connectClient(path);
  client.write(connectRequest(host, port));
  assert.equal((await readBytes(client, 12)).toString("hex"), "050005000001000000000000");
  return client;
}

/** Returns once the other side has gone altogether: a Unix socket tells that from a half-close only to who writes. */
export async function untilGone(socket: Socket): Promise<void> {
  socket.resume();
  while (!socket.destroyed) {
    socket.write("?");
    await new Promise(setImmediate);
  }
}
