import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { ApiKey } from "../src/start/api-key.ts";
import { ScriptedUpstream, startProxy, untilClosedInFull } from "./support/peers.ts";

const apiKey = new ApiKey("s3cret");

/** An HTTP server that answers each request with its Authorization and Host headers and its body. */
async function echoServer(): Promise<AsyncDisposable & { readonly port: number; readonly connections: () => number }> {
  let connections = 0;
  const answer = async (incoming: IncomingMessage): Promise<string> =>
    `${incoming.url} ${incoming.headers.authorization} ${incoming.headers.host} ${await text(incoming)}\n`;
  const server: Server = createServer((incoming, response) => {
    answer(incoming).then(
      (body) => response.end(body),
      () => response.destroy(),
    );
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("a proxy with a key puts it into every request of a kept connection", async () => {
  await using upstream = await echoServer();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, { apiKey });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async (path: string, body: string): Promise<string> => {
    const outgoing = request({
      agent,
      socketPath: proxy.path,
      path,
      method: "POST",
    });
    outgoing.end(body);
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    return text(response);
  };
  const host = `127.0.0.1:${upstream.port}`;
  assert.equal(await ask("/a", "1"), `/a Bearer s3cret ${host} 1\n`);
  assert.equal(await ask("/b", "22"), `/b Bearer s3cret ${host} 22\n`);
  assert.equal(await ask("/c", ""), `/c Bearer s3cret ${host} \n`);
  assert.equal(upstream.connections(), 1);
  agent.destroy();
  assert.deepEqual(proxy.log, []);
});

test("a proxy with a key puts it into pipelined requests that come one byte at a time", async () => {
  await using upstream = await echoServer();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, { apiKey });
  const client = proxy.connect();
  const requests =
    "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (const byte of Buffer.from(requests)) {
    const written = Promise.withResolvers<unknown>();
    client.socket.write(Buffer.of(byte), written.resolve);
    await written.promise;
  }
  await untilClosedInFull(client);
  const host = `127.0.0.1:${upstream.port}`;
  const answers = client.text.match(/^\/.*$/gmu);
  assert.deepEqual(answers, [`/1 Bearer s3cret ${host} `, `/2 Bearer s3cret ${host} ab`, `/3 Bearer s3cret ${host} `]);
});

test("a proxy with a key passes a client's end on after its request", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, { apiKey });
  const client = proxy.connect();
  client.socket.end("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const server = await upstream.next();
  await server.untilEnd();
  assert.match(server.text, /^GET \/ HTTP\/1\.1\r\nHost: .*\r\nAuthorization: Bearer s3cret\r\n\r\n$/u);
  server.socket.end("answer");
  await client.closed;
  assert.equal(client.text, "answer");
});

for (const [why, head, reason] of [
  ["a head that is too long", `GET / HTTP/1.1\r\nA: ${"a".repeat(16 * 1024)}`, "head too long"],
  ["what is no HTTP", "hello\r\n\r\n", "malformed request line"],
  ["one that is refused right after another", "GET / HTTP/1.1\r\n\r\nGET http://h/ HTTP/1.1\r\n\r\n", "malformed request line"],
  ["a key of its own", "GET / HTTP/1.1\r\nAuthorization: Bearer theirs\r\n\r\n", "credentials of the client's own"],
] as const) {
  test(`a proxy with a key tells a client that sends ${why} that it is refused, and the server gets nothing of it`, async () => {
    await using upstream = await ScriptedUpstream.start();
    await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, { apiKey });
    const client = proxy.connect();
    client.socket.write(head);
    const server = await upstream.next();
    await client.untilEnd();
    await server.untilEnd();
    assert.equal(server.text, "");
    client.socket.destroy();
    await proxy.logged("request-refused");
    const [line = "", ...rest] = client.text.split("\r\n");
    assert.equal(line, "HTTP/1.1 400 Bad Request");
    assert.ok(rest.includes("X-Inferproxy: request-refused"));
    assert.deepEqual(JSON.parse(rest.at(-1) ?? ""), {
      error: { code: 400, message: `inferproxy doesn't forward this request (${reason})`, type: "inferproxy_request_refused" },
    });
    assert.deepEqual(proxy.log, [
      `2026-01-02T03:04:05.678Z warn request-refused connection=1 reason="${reason}" see="docs/runbook.md#inferproxy-request-refused"`,
    ]);
  });
}

test("a proxy with a key puts nothing of its own into a connection whose first request was forwarded", async () => {
  await using upstream = await ScriptedUpstream.start();
  await using proxy = await startProxy(`http://127.0.0.1:${upstream.port}`, { apiKey });
  const client = proxy.connect();
  client.socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const server = await upstream.next();
  await server.until((received) => received.endsWith("\r\n\r\n"));
  server.socket.write("HTTP/1.1 200 OK\r\n");
  await client.until((received) => received.endsWith("\r\n"));
  client.socket.write("hello\r\n\r\n");
  await untilClosedInFull(client);
  assert.equal(client.text, "HTTP/1.1 200 OK\r\n");
});
