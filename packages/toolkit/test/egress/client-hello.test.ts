import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { connect } from "node:tls";
import fc from "fast-check";
import { readClientHello, serverNameOf } from "../../src/egress/client-hello.ts";
import { dialDirectly } from "../../src/egress/dial.ts";
import { listenLoopback } from "./loopback-server.ts";
import { connectClient, connectThrough, openTestProxy, readBytes, readToEnd, untilGone } from "./test-proxy.ts";

const NEVER = new AbortController().signal;

/** What a real TLS client says first. */
async function realHello(servername: string | undefined): Promise<Buffer> {
  const first = Promise.withResolvers<Buffer>();
  await using server = await listenLoopback((socket) => socket.once("data", first.resolve));
  const client = connect({ port: server.port, host: "127.0.0.1", ...(servername === undefined ? {} : { servername }) });
  client.on("error", () => undefined);
  const bytes = await first.promise;
  client.destroy();
  return bytes;
}

async function nameOf(bytes: Buffer): Promise<string | undefined> {
  const stream = new PassThrough();
  stream.end(bytes);
  const hello = await readClientHello(stream, NEVER);
  if (hello !== undefined) assert.ok(bytes.subarray(0, hello.bytes.length).equals(hello.bytes));
  return hello?.name;
}

test("the server name of a real TLS client is read, also from records of one byte each", async () => {
  const hello = await realHello("example.com");
  assert.equal(await nameOf(hello), "example.com");
  const records = Array.from(hello.subarray(5), (byte) => Buffer.from([22, 3, 1, 0, 1, byte]));
  assert.equal(await nameOf(Buffer.concat(records)), "example.com");
});

test("a client that names no server, two of them, or nothing that can be read has no name", async () => {
  assert.equal(await nameOf(await realHello(undefined)), undefined);
  const entry = Buffer.from([0, 0, 1, "a".charCodeAt(0)]);
  const extension = (list: Buffer): Buffer => Buffer.from([0, 0, 0, list.length + 2, 0, list.length, ...list]);
  const body = (...extensions: readonly Buffer[]): Buffer => {
    const all = Buffer.concat(extensions);
    return Buffer.concat([Buffer.alloc(34), Buffer.from([0, 0, 2, 0x13, 1, 1, 0, 0, all.length]), all]);
  };
  assert.equal(serverNameOf(body(extension(entry))), "a");
  assert.equal(serverNameOf(body(extension(entry), extension(entry))), undefined);
  assert.equal(serverNameOf(body(extension(Buffer.concat([entry, entry])))), undefined);
  assert.equal(serverNameOf(body(extension(Buffer.from([1, 0, 1, 97])))), undefined);
  assert.equal(serverNameOf(Buffer.concat([body(extension(entry)), Buffer.from([0])])), undefined);
  assert.equal(serverNameOf(body()), undefined);
  assert.equal(await nameOf(Buffer.from("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")), undefined);
  assert.equal(await nameOf(Buffer.from([22, 3, 1, 0xff, 0xff, 1])), undefined);
  // A message that says it is longer than any is.
  assert.equal(await nameOf(Buffer.from([22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff])), undefined);
});

test("any bytes are read without an error", async () => {
  const hello = await realHello("example.com");
  await fc.assert(
    fc.asyncProperty(fc.nat(hello.length - 1), fc.nat(255), fc.nat(hello.length), async (at, byte, length) => {
      const changed = Buffer.from(hello.subarray(0, length));
      if (at < length) changed[at] = byte;
      await nameOf(changed);
    }),
    { numRuns: 500 },
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => serverNameOf(Buffer.from(bytes)) === undefined));
});

test("on port 443 only a TLS client that asks for the granted host is passed on, as it spoke", async () => {
  await using server = await listenLoopback((socket) => socket.pipe(socket));
  await using proxy = await openTestProxy({ upstream: server.port, limits: { handshakeMs: 2000 } });
  for (const first of [await realHello("evil.test"), await realHello(undefined), Buffer.from("GET / HTTP/1.1\r\n\r\n")]) {
    const client = await connectThrough(proxy.path, "example.com", 443);
    client.write(first);
    assert.equal((await readToEnd(client)).length, 0);
    await untilGone(client);
  }
  assert.deepEqual(new Set(proxy.log), new Set(["refused example.com:443: expected a TLS client that asks for this host"]));
  const hello = await realHello("EXAMPLE.com");
  const client = await connectThrough(proxy.path, "example.com", 443);
  client.write(hello.subarray(0, 100));
  client.write(hello.subarray(100));
  client.write("more");
  assert.ok((await readBytes(client, hello.length + 4)).equals(Buffer.concat([hello, Buffer.from("more")])));
  client.destroy();
});

test("a client of port 443 that says nothing is given up at the deadline", async () => {
  await using server = await listenLoopback(() => undefined);
  await using proxy = await openTestProxy({ upstream: server.port, limits: { handshakeMs: 200 } });
  const client = await connectThrough(proxy.path, "example.com", 443);
  assert.equal((await readToEnd(client)).length, 0);
  client.destroy();
  (await connectClient(proxy.path)).destroy();
});

test("a host that breaks off before its client has spoken takes the client with it", { timeout: 15_000 }, async () => {
  await using server = await listenLoopback(() => undefined);
  let dialled: Socket | undefined;
  await using proxy = await openTestProxy({
    dial: async (_address, _port, signal) => {
      dialled = await dialDirectly({ address: "127.0.0.1", family: 4 }, server.port, signal);
      return dialled;
    },
  });
  const client = await connectThrough(proxy.path, "example.com", 443);
  while (server.sockets.length === 0) await new Promise(setImmediate);
  server.sockets[0]?.resetAndDestroy();
  while (dialled?.destroyed !== true) await new Promise(setImmediate);
  client.write(await realHello("example.com"));
  assert.equal((await readToEnd(client)).length, 0);
  client.destroy();
});
