import assert from "node:assert/strict";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { test } from "node:test";
import { EgressProxy, PROXY_LIMITS } from "../../src/egress/egress-proxy.ts";
import { judgeAddress } from "../../src/egress/judge-address.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { listenLoopback } from "./loopback-server.ts";
import {
  connectClient,
  connectRequest,
  connectThrough,
  exchange,
  ofFamily,
  openTestProxy,
  PUBLIC,
  readBytes,
  readToEnd,
  untilGone,
} from "./test-proxy.ts";

const METHOD = "0500";
const reply = (code: number): string => `${METHOD}050${code}0001000000000000`;

function echo(socket: Socket): void {
  socket.pipe(socket);
}

test("a granted name is resolved and dialled by the proxy, and bytes pass both ways", async () => {
  await using server = await listenLoopback(echo);
  await using proxy = await openTestProxy({ upstream: server.port });
  const client = await connectThrough(proxy.path, "example.com", 80);
  client.write("hello");
  assert.equal((await readBytes(client, 5)).toString(), "hello");
  client.destroy();
  assert.deepEqual(proxy.dialled, [{ address: PUBLIC, family: 4 }]);
  assert.deepEqual(proxy.log, [`connected example.com:80 at ${PUBLIC}`]);
});

test("a host is refused that isn't granted, and nobody is asked about it", async () => {
  const asked: string[] = [];
  const lookUp = (host: string): Promise<readonly string[]> => {
    asked.push(host);
    return Promise.resolve([PUBLIC]);
  };
  await using proxy = await openTestProxy({ allow: ["example.com", "*.wild.example"], answers: lookUp });
  for (const host of ["evil.test", "sub.example.com", "example.com.evil.test", "wild.example", "a.b.wild.example", "localhost"]) {
    assert.equal(await exchange(proxy.path, connectRequest(host, 80)), reply(2), host);
  }
  assert.deepEqual(asked, []);
  assert.equal(await exchange(proxy.path, connectRequest("a.wild.example", 80)), reply(5));
  assert.deepEqual(asked, ["a.wild.example"]);
});

test("an address is refused in every spelling, and so is what is no host name", async () => {
  await using proxy = await openTestProxy({ allow: ["example.com", "*.example.com"] });
  const names = [
    "127.0.0.1",
    "0x7f.1",
    "0177.0.0.1",
    "2130706433",
    "127.1",
    "::1",
    "[::1]",
    "EXAMPLE.com",
    "example.com.",
    "",
    "a\0.example.com",
  ];
  for (const name of [
    ...names,
    "-.example.com",
    "\xff.example.com",
    "a b.example.com",
    `${"a".repeat(64)}.example.com`,
    "x".repeat(255),
  ]) {
    assert.equal(await exchange(proxy.path, connectRequest(name, 80)), reply(2), name);
  }
  assert.deepEqual(proxy.dialled, []);
});

test("only ports 80 and 443 are served", async () => {
  await using proxy = await openTestProxy();
  for (const port of [0, 22, 79, 81, 442, 444, 8080, 8443, 65535]) {
    assert.equal(await exchange(proxy.path, connectRequest("example.com", port)), reply(2), String(port));
  }
  assert.equal(await exchange(proxy.path, connectRequest("example.com", 443)), reply(5));
});

test("a name without a public address is told apart from a host that doesn't answer", async () => {
  for (const answers of [[], ["10.0.0.5"], ["127.0.0.1", "::1", "fe80::1%2"], ["::ffff:127.0.0.1"], ["not an address"]]) {
    await using proxy = await openTestProxy({ answers });
    assert.equal(await exchange(proxy.path, connectRequest("example.com", 80)), reply(4));
    assert.deepEqual(proxy.dialled, []);
    assert.deepEqual(proxy.log, [`refused example.com:80: none of ${answers.length} addresses is public`]);
  }
  await using closed = await openTestProxy();
  assert.equal(await exchange(closed.path, connectRequest("example.com", 80)), reply(5));
  assert.deepEqual(closed.log, [`refused example.com:80: ${PUBLIC} doesn't answer`]);
});

test("of a mixed answer the first public address is dialled, and no other when it doesn't answer", async () => {
  await using proxy = await openTestProxy({ answers: ["10.0.0.1", "::1", "1.1.1.1", "2606:4700:4700::1111", "8.8.8.8"] });
  assert.equal(await exchange(proxy.path, connectRequest("example.com", 80)), reply(5));
  assert.deepEqual(proxy.dialled, [{ address: "1.1.1.1", family: 4 }]);
});

test("IPv6 addresses are asked for only where no IPv4 address is public", async () => {
  for (const [answers, families] of [
    [["10.0.0.1", "1.1.1.1", "2606:4700:4700::1111"], [4]],
    [
      ["10.0.0.1", "::1", "2606:4700:4700::1111"],
      [4, 6],
    ],
  ] as const) {
    const asked: number[] = [];
    const lookUp = (_: string, family: 4 | 6): Promise<readonly string[]> => {
      asked.push(family);
      return Promise.resolve(ofFamily(answers, family));
    };
    await using proxy = await openTestProxy({ answers: lookUp });
    assert.equal(await exchange(proxy.path, connectRequest("example.com", 80)), reply(5));
    assert.deepEqual(asked, families);
    assert.deepEqual(proxy.dialled, [judgeAddress(answers[families.length] ?? "")]);
  }
});

test("a connection that is refused by the other side is answered with 5", async () => {
  const server = await listenLoopback(echo);
  const { port } = server;
  await server[Symbol.asyncDispose]();
  await using proxy = await openTestProxy({ upstream: port });
  assert.equal(await exchange(proxy.path, connectRequest("example.com", 80)), reply(5));
});

test("a request may come byte by byte, and what follows it at once is passed on", async () => {
  await using server = await listenLoopback(echo);
  await using proxy = await openTestProxy({ upstream: server.port });
  const client = await connectClient(proxy.path);
  for (const byte of connectRequest("example.com", 80)) {
    await new Promise((resolve) => client.write(Buffer.from([byte]), resolve));
  }
  client.write("early");
  assert.equal((await readBytes(client, 17)).toString("latin1", 12), "early");
  client.destroy();
});

test("a request that is cut anywhere leads nowhere", async () => {
  await using proxy = await openTestProxy({ upstream: 1 });
  const whole = connectRequest("example.com", 80);
  for (let length = 0; length < whole.length; length++) {
    const client = await connectClient(proxy.path);
    client.end(whole.subarray(0, length));
    assert.equal((await readToEnd(client)).toString("hex"), length < 3 ? "" : METHOD, String(length));
    client.destroy();
  }
  assert.deepEqual(proxy.dialled, []);
});

test("one deadline holds for the whole handshake, also where bytes trickle in, and none after it", async () => {
  await using server = await listenLoopback(echo);
  await using proxy = await openTestProxy({ upstream: server.port, limits: { handshakeMs: 300 } });
  const served = await connectThrough(proxy.path, "example.com", 80);
  const silent = await connectClient(proxy.path);
  const trickling = await connectClient(proxy.path);
  const request = connectRequest(`${"a".repeat(60)}.example.com`, 80);
  let sent = 0;
  const timer = setInterval(() => trickling.write(request.subarray(sent, ++sent)), 40);
  const ends = await Promise.all([readToEnd(silent), readToEnd(trickling)]);
  clearInterval(timer);
  assert.deepEqual(
    ends.map((end) => end.toString("hex")),
    ["", METHOD],
  );
  assert.ok(sent < request.length);
  served.write("still here");
  assert.equal((await readBytes(served, 10)).toString(), "still here");
  for (const socket of [served, silent, trickling]) socket.destroy();
});

test("a resolver or a host that never answers is given up at the deadline, with the reply that fits", async () => {
  const whenAborted = async (signal: AbortSignal): Promise<void> => {
    if (!signal.aborted) await once(signal, "abort");
  };
  const limits = { handshakeMs: 100 };
  await using slow = await openTestProxy({ limits, answers: (_, _family, signal) => whenAborted(signal).then(() => []) });
  assert.equal(await exchange(slow.path, connectRequest("example.com", 80)), reply(4));
  await using deaf = await openTestProxy({ limits, dial: (_, _port, signal) => whenAborted(signal).then(() => undefined) });
  assert.equal(await exchange(deaf.path, connectRequest("example.com", 80)), reply(5));
});

test("a client that was refused and doesn't hang up is hung up on at the deadline", async () => {
  await using proxy = await openTestProxy({ limits: { handshakeMs: 100 } });
  const client = await connectClient(proxy.path);
  client.write(connectRequest("evil.test", 80));
  assert.equal((await readToEnd(client)).toString("hex"), reply(2));
  // Our side is still open: only the proxy can close the whole.
  await untilGone(client);
});

test("each side's end is passed on by itself", async () => {
  await using server = await listenLoopback((socket) => {
    socket.write("first");
    readToEnd(socket).then((all) => socket.end(`got ${all.toString()}`), assert.fail);
  });
  await using proxy = await openTestProxy({ upstream: server.port });
  const client = await connectThrough(proxy.path, "example.com", 80);
  assert.equal((await readBytes(client, 5)).toString(), "first");
  client.end("question");
  assert.equal((await readToEnd(client)).toString(), "got question");
  await using other = await listenLoopback((socket) => {
    socket.end("bye");
  });
  await using second = await openTestProxy({ upstream: other.port });
  const late = await connectThrough(second.path, "example.com", 80);
  assert.equal((await readToEnd(late)).toString(), "bye");
  const [upstream] = other.sockets;
  assert.ok(upstream !== undefined);
  late.end("after your end");
  assert.equal((await readToEnd(upstream)).toString(), "after your end");
});

test("a side that breaks takes the other with it", async () => {
  await using server = await listenLoopback(() => undefined);
  await using proxy = await openTestProxy({ upstream: server.port });
  const client = await connectThrough(proxy.path, "example.com", 80);
  while (server.sockets.length === 0) await new Promise(setImmediate);
  server.sockets[0]?.resetAndDestroy();
  await untilGone(client);
});

test("a sender waits for a reader that doesn't read: nothing piles up in between", async () => {
  await using server = await listenLoopback((socket) => socket.pause());
  await using proxy = await openTestProxy({ upstream: server.port });
  const client = await connectThrough(proxy.path, "example.com", 80);
  const chunk = Buffer.alloc(1024 * 1024);
  let sent = 0;
  // Sockets' own buffers take a few megabytes; then writing has to stop.
  while (sent < 64) {
    const isFlushed = await Promise.race([
      new Promise<boolean>((resolve) => client.write(chunk, () => resolve(true))),
      new Promise<boolean>((resolve) => setTimeout(resolve, 500, false)),
    ]);
    if (!isFlushed) break;
    sent++;
  }
  assert.ok(sent < 32, `${sent} MiB went nowhere`);
  client.destroy();
});

test("all bytes arrive, in order, with both sides sending at once", async () => {
  const all = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef-");
  await using server = await listenLoopback(echo);
  await using proxy = await openTestProxy({ upstream: server.port });
  const client = await connectThrough(proxy.path, "example.com", 80);
  client.end(all);
  assert.ok((await readToEnd(client)).equals(all));
});

test("connections past the limit are closed at once, with one line, and the next one after that is served", async () => {
  await using proxy = await openTestProxy({ limits: { connections: 4 } });
  const held = await Promise.all(Array.from({ length: 4 }, () => connectClient(proxy.path)));
  for (const client of held) client.write(Buffer.from([5, 1, 0]));
  for (const client of held) assert.equal((await readBytes(client, 2)).toString("hex"), METHOD);
  for (let round = 0; round < 20; round++) assert.equal(await exchange(proxy.path, connectRequest("evil.test", 80)), "");
  assert.deepEqual(proxy.log, ["refused a connection: 4 are open"]);
  for (const client of held) client.destroy();
  let answer = "";
  while (answer === "") answer = await exchange(proxy.path, connectRequest("evil.test", 80));
  assert.equal(answer, reply(2));
});

test("a connection on which nothing moves is closed in the end", async () => {
  await using server = await listenLoopback(() => undefined);
  await using proxy = await openTestProxy({ upstream: server.port, limits: { idleMs: 100 } });
  const client = await connectThrough(proxy.path, "example.com", 80);
  assert.equal((await readToEnd(client)).length, 0);
  await untilGone(client);
});

test("a proxy that nobody uses says so, and one that is used doesn't", async () => {
  await using server = await listenLoopback(echo);
  await using proxy = await openTestProxy({ upstream: server.port, limits: { unusedMs: 100 } });
  let unused = false;
  const told = proxy.proxy.unused.then(() => {
    unused = true;
  });
  const client = await connectThrough(proxy.path, "example.com", 80);
  await new Promise((resolve) => setTimeout(resolve, 250));
  assert.equal(unused, false);
  client.destroy();
  await told;
});

test("the socket is the owner's alone, is refused where something is already, and is gone at the end", async () => {
  using folder = temporaryFolder();
  const socketPath = `${folder.path}/proxy.sock`;
  const options = {
    socketPath,
    allow: ["example.com"],
    lookUp: () => Promise.resolve([]),
    dial: () => Promise.resolve(undefined),
    log: () => undefined,
    limits: PROXY_LIMITS,
  };
  const first = await EgressProxy.open(options);
  assert.ok(first.kind === "listening");
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  assert.deepEqual(await EgressProxy.open(options), { kind: "refused", problem: "something is there already" });
  await first.proxy[Symbol.asyncDispose]();
  assert.equal(statSync(socketPath, { throwIfNoEntry: false }), undefined);
  writeFileSync(socketPath, "");
  assert.deepEqual(await EgressProxy.open(options), { kind: "refused", problem: "something is there already" });
  const missing = await EgressProxy.open({ ...options, socketPath: `${folder.path}/none/proxy.sock` });
  assert.ok(missing.kind === "refused" && /^failed with E[A-Z]+$/u.test(missing.problem));
});

test("the end of the proxy is the end of its connections", async () => {
  await using server = await listenLoopback(echo);
  const proxy = await openTestProxy({ upstream: server.port });
  const clients = [await connectThrough(proxy.path, "example.com", 80), await connectClient(proxy.path)];
  await proxy[Symbol.asyncDispose]();
  await Promise.all(clients.map(untilGone));
});
