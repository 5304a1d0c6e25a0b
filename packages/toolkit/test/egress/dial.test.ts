import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { dialDirectly } from "../../src/egress/dial.ts";
import { listenLoopback } from "./loopback-server.ts";

const LOOPBACK = { address: "127.0.0.1", family: 4 } as const;

test("dialling opens a connection to the very address, of which each half ends by itself", async () => {
  await using server = await listenLoopback((socket) => socket.end("bye"));
  const socket = await dialDirectly(LOOPBACK, server.port, new AbortController().signal);
  assert.ok(socket !== undefined);
  assert.equal(socket.remoteAddress, "127.0.0.1");
  await once(socket.resume(), "end");
  assert.equal(socket.writable, true);
  socket.destroy();
});

test("dialling leads to nothing where nobody answers, or once it is given up, and leaves nothing open", async () => {
  const server = await listenLoopback(() => undefined);
  assert.equal(await dialDirectly(LOOPBACK, server.port, AbortSignal.abort()), undefined);
  const stop = new AbortController();
  const dialling = dialDirectly(LOOPBACK, server.port, stop.signal);
  stop.abort();
  assert.equal(await dialling, undefined);
  await server[Symbol.asyncDispose]();
  assert.equal(await dialDirectly(LOOPBACK, server.port, new AbortController().signal), undefined);
});
