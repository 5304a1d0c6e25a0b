import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, Socket } from "node:net";
import { Writable } from "node:stream";
import { test } from "node:test";
import { bridge } from "../src/socket/bridge.ts";
import { flushThen } from "../src/socket/flush-then.ts";
import { ApiKey } from "../src/start/api-key.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { ScriptedUpstream, startProxy, untilClosedInFull } from "./support/peers.ts";

test("a proxy forwards bytes both ways as they come", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`);
  const client = proxy.connect();
  client.socket.write("one");
  const server = await upstream.next();
  await server.until((text) => text === "one");
  server.socket.write("\xff1", "latin1");
  await client.until((text) => text === "\xff1");
  client.socket.write("two");
  await server.until((text) => text === "onetwo");
  server.socket.write("2");
  await client.until((text) => text === "\xff12");
});

test("a proxy passes a client's end on, and the answer still flows until the server's end closes the client", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`);
  const client = proxy.connect();
  client.socket.end("request");
  const server = await upstream.next();
  await server.untilEnd();
  assert.equal(server.text, "request");
  server.socket.write("first ");
  await client.until((text) => text === "first ");
  server.socket.end("last");
  await client.closed;
  assert.equal(client.text, "first last");
  assert.equal(client.error, null);
});

test("a proxy closes the client in full when the server ends, even while the client goes on sending", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`);
  const client = proxy.connect();
  const send = (error?: Error | null): void => {
    if (error === undefined || error === null) {
      client.socket.write(Buffer.alloc(16 * 1024), send);
    }
  };
  send();
  const server = await upstream.next();
  await server.until((text) => text.length > 0);
  server.socket.write("answer");
  await client.until((text) => text === "answer");
  server.socket.end();
  await client.closed;
  assert.equal(client.text, "answer");
});

test("a proxy closes the client when the server's connection breaks while the client waits", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`);
  const client = proxy.connect();
  client.socket.write("request");
  const server = await upstream.next();
  await server.until((text) => text === "request");
  server.socket.resetAndDestroy();
  await untilClosedInFull(client);
  await proxy.logged('upstream-broke connection=1 error=ECONNRESET see="docs/runbook.md#inferproxy-upstream-away"');
});

test("a proxy closes the server's connection when a client is gone, though the server sends nothing", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, {
    limits: { maxConnections: 1, ratePerSecond: 1, burst: 9 },
  });
  const client = proxy.connect();
  client.socket.write("request");
  const server = await upstream.next();
  await server.until((text) => text === "request");
  client.socket.destroy();
  await server.untilEnd();
  // The place is free again without a byte from the server, so that a client that gave up can't lock itself out.
  const second = proxy.connect();
  second.socket.write("again");
  await (await upstream.next()).until((text) => text === "again");
});

test("a proxy delivers all that the server sent before its end to a client that reads slowly", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`);
  const answer = Buffer.alloc(4 * 1024 * 1024, "x");
  const client = proxy.connect();
  client.socket.pause();
  const server = await upstream.next();
  server.socket.end(answer);
  client.socket.resume();
  await untilClosedInFull(client);
  assert.equal(client.bytes.length, answer.length);
});

/** A port at which nothing listens. */
async function deadPort(): Promise<number> {
  const upstream = await ScriptedUpstream.start();
  const { port } = upstream;
  await upstream[Symbol.asyncDispose]();
  return port;
}

test("a proxy answers a request for a server that isn't there by itself, so that a client can tell, and logs one line", async () => {
  const port = await deadPort();
  for (const apiKey of [null, new ApiKey("s3cret")]) {
    await using proxy = await startProxy(`http://127.0.0.1:${port}`, { apiKey });
    const client = proxy.connect();
    client.socket.write("POST / HTTP/1.1\r\n");
    await client.untilEnd();
    client.socket.end();
    await client.closed;
    const [line = "", ...rest] = client.text.split("\r\n");
    assert.equal(line, "HTTP/1.1 502 Bad Gateway");
    assert.ok(rest.includes("X-Inferproxy: upstream-away") && rest.includes("Connection: close"));
    assert.deepEqual(JSON.parse(rest.at(-1) ?? ""), {
      error: { code: 502, message: "inferproxy can't reach the model server (ECONNREFUSED)", type: "inferproxy_upstream_away" },
    });
    await proxy.logged("upstream-away");
    assert.deepEqual(proxy.log, [
      `2026-01-02T03:04:05.678Z warn upstream-away connection=1 upstream=http://127.0.0.1:${port} error=ECONNREFUSED see="docs/runbook.md#inferproxy-upstream-away"`,
    ]);
  }
});

test("a proxy's own answer reaches a client that is still sending, and its place is free when it does", async () => {
  const port = await deadPort();
  await using proxy = await startProxy(`http://127.0.0.1:${port}`, {
    limits: { maxConnections: 1, ratePerSecond: 1, burst: 100 },
  });
  for (let round = 0; round < 20; round += 1) {
    const client = proxy.connect();
    client.socket.write(Buffer.alloc(1024 * 1024, "x"));
    await client.until((text) => text.includes("inferproxy_upstream_away"));
    client.socket.destroy();
  }
  assert.ok(!proxy.log.some((line) => line.includes("connection-refused")));
});

test("a proxy says nothing to a client that asks nothing of a server that isn't there, and closes it after two seconds", async () => {
  const port = await deadPort();
  await using proxy = await startProxy(`http://127.0.0.1:${port}`);
  const silent = proxy.connect();
  const ended = proxy.connect();
  ended.socket.end();
  await ended.closed;
  assert.equal(ended.text, "");
  // One of the two waits still.
  await proxy.clock.asleep(1);
  proxy.clock.advance(2_000);
  await untilClosedInFull(silent);
  assert.equal(silent.text, "");
});

test("a proxy above its cap closes a new client at once, and takes one again as soon as a client sees its close", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, {
    limits: { maxConnections: 1, ratePerSecond: 1, burst: 1000 },
  });
  let client = proxy.connect();
  client.socket.write("x");
  let server = await upstream.next();
  const refused = proxy.connect();
  await untilClosedInFull(refused);
  await proxy.logged('connection-refused reason=connections see="docs/runbook.md#inferproxy-limits"');
  for (let round = 0; round < 50; round += 1) {
    server.socket.end();
    await client.untilEnd();
    client = proxy.connect();
    client.socket.write("x");
    server = await upstream.next();
  }
  assert.equal(proxy.log.length, 1);
});

test("a proxy refuses by rate, tells it once, and takes clients again when time has passed", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, {
    limits: { maxConnections: 9, ratePerSecond: 1, burst: 2 },
  });
  for (let round = 0; round < 2; round += 1) {
    proxy.connect();
    await upstream.next();
  }
  await untilClosedInFull(proxy.connect());
  await untilClosedInFull(proxy.connect());
  assert.deepEqual(proxy.log, [
    '2026-01-02T03:04:05.678Z warn connection-refused reason=rate see="docs/runbook.md#inferproxy-limits"',
  ]);
  proxy.clock.advance(1000);
  proxy.connect();
  await upstream.next();
  assert.equal(upstream.count, 3);
});

test("flushThen() waits for what was written, and gives up after ten seconds on one who doesn't take it", async () => {
  const clock = new FakeClock();
  const make = (): Writable => new Writable({ write: () => undefined });
  const calls: string[] = [];
  flushThen(make(), clock, () => calls.push("empty"));
  assert.deepEqual(calls, ["empty"]);
  const stuck = make();
  stuck.write("x");
  const gaveUp = Promise.withResolvers<undefined>();
  flushThen(stuck, clock, () => gaveUp.resolve(undefined));
  clock.advance(9_999);
  assert.equal(clock.sleeping, 1);
  clock.advance(1);
  await gaveUp.promise;
  assert.equal(clock.sleeping, 0);
});

test("bridge() closes the client when making the connection takes more than ten seconds", async () => {
  await using clients = await ScriptedUpstream.start();
  const socket = connect({ port: clients.port, host: "127.0.0.1" });
  const client = await clients.next();
  const clock = new FakeClock();
  const order: string[] = [];
  client.socket.once("close", () => order.push("closed"));
  const ended = bridge({
    client: client.socket,
    // A socket that was never told to connect makes no progress.
    upstream: { socket: new Socket(), readyEvent: "connect" },
    requests: null,
    clock,
    beforeClose: () => order.push("place freed"),
    signal: new AbortController().signal,
  });
  clock.advance(10_000);
  await clock.asleep(1);
  clock.advance(2_000);
  assert.deepEqual(await ended, { kind: "upstream-away", error: "ETIMEDOUT" });
  await once(socket, "close");
  assert.deepEqual(order, ["place freed", "closed"]);
});

test("a proxy that is stopped closes every client and every server connection, and leaves no timer", async () => {
  await using upstream = await ScriptedUpstream.start();
  const proxy = await startProxy(`http://127.0.0.1:${upstream.port}`);
  const client = proxy.connect();
  await once(client.socket, "connect");
  const server = await upstream.next();
  await proxy[Symbol.asyncDispose]();
  await client.closed;
  await server.untilEnd();
  assert.equal(proxy.clock.sleeping, 0);
});
