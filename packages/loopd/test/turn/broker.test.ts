import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { systemClock } from "@boxmaker/edge/log";
import { BrokerAnswer, CallId, encodeMessage, SessionId } from "@boxmaker/proto";
import { BrokerClient } from "../../src/turn/broker-client.ts";
import type { ToolEnd } from "../../src/turn/tool-port.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { TestHome } from "../support/home.ts";

const REQUEST = { session: SessionId.parse("s1"), call: CallId.parse(1), turn: CallId.parse(1), tool: "shell", arguments: "{}" };
const never = new AbortController().signal;

const ok = (id: number, final: boolean): Buffer =>
  encodeMessage(BrokerAnswer, {
    id,
    final,
    message: {
      kind: "tool_response",
      body: { outcome: "result", content: "x", class: "public", untrusted: false, truncated: false },
    },
  });
const pending = (expires: string, final = false): Buffer =>
  encodeMessage(BrokerAnswer, {
    id: 1,
    final,
    message: BrokerAnswer.parse({ kind: "pending_approval", body: { approval: 7, expires } }),
  });
const error = (id: number): Buffer =>
  encodeMessage(BrokerAnswer, { id, final: true, message: { kind: "error", body: { code: "limit", detail: "too many calls" } } });

interface RawBroker extends AsyncDisposable {
  readonly path: string;
  readonly home: TestHome;
  /** The connection, when it has come. */
  readonly connection: Promise<Socket>;
}

/** A broker that says these bytes to whoever connects, and may then close. */
async function rawBroker(bytes: Buffer, then: "close" | "stay"): Promise<RawBroker> {
  const home = await TestHome.make();
  const path = home.at("run/broker/broker.sock");
  const connection = Promise.withResolvers<Socket>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(bytes);
      if (then === "close") socket.end();
      connection.resolve(socket);
    });
  });
  server.listen(path);
  await once(server, "listening");
  return {
    path,
    home,
    connection: connection.promise,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

async function call(path: string): Promise<{ readonly end: ToolEnd; readonly log: readonly string[] }> {
  const log: string[] = [];
  const client = new BrokerClient({
    socketPath: path,
    timeoutMs: 10_000,
    clock: systemClock,
    onFailure: (_request, why) => log.push(why),
  });
  return { end: await client.call(REQUEST, { onPending: () => {}, signal: never }), log };
}

const LATER = "2099-01-01T00:00:00.000Z";
const BAD: readonly (readonly [what: string, bytes: Buffer, sentence: RegExp])[] = [
  ["nothing", Buffer.alloc(0), /did not answer/u],
  ["half a frame", ok(1, true).subarray(0, 20), /did not answer/u],
  ["a frame that is too large", Buffer.from([0xff, 0xff, 0xff, 0xff]), /could not be read/u],
  ["a frame that is no JSON", Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from("{")]), /could not be read/u],
  ["an answer to another request", ok(2, true), /could not be read/u],
  ["a result that isn't final", ok(1, false), /no final answer/u],
  ["a final approval", pending(LATER, true), /no final answer/u],
  ["an approval twice", Buffer.concat([pending(LATER), pending(LATER)]), /no final answer/u],
  ["an approval and the end", pending(LATER), /did not answer/u],
  ["an error", error(1), /did not take the call/u],
  ["an error about the frame itself", error(0), /did not take the call/u],
];

for (const [what, bytes, sentence] of BAD) {
  test(`a broker that says ${what} is a failed call with a fixed sentence and one line in the log`, async () => {
    await using broker = await rawBroker(bytes, "close");
    const { end, log } = await call(broker.path);
    assert.equal(end.outcome, "failed");
    assert.match(end.outcome === "failed" ? end.message : "", sentence);
    assert.equal(log.length, 1);
  });
}

test("a broker that isn't there is a failed call that did not run", async () => {
  await using home = await TestHome.make();
  const { end, log } = await call(home.at("run/broker/broker.sock"));
  assert.match(end.outcome === "failed" ? end.message : "", /not available, so the call did not run/u);
  assert.equal(log.length, 1);
});

test("a result that arrived counts, whatever the connection does afterwards", async () => {
  await using broker = await rawBroker(Buffer.concat([ok(1, true), Buffer.from("garbage")]), "close");
  assert.equal((await call(broker.path)).end.outcome, "result");
});

test("arguments larger than brokerd takes are not sent", async () => {
  await using broker = await rawBroker(ok(1, true), "close");
  const client = new BrokerClient({ socketPath: broker.path, timeoutMs: 10_000, clock: systemClock, onFailure: () => {} });
  const end = await client.call(
    { ...REQUEST, arguments: `{"a":"${"x".repeat(1_048_576)}"}` },
    { onPending: () => {}, signal: never },
  );
  assert.match(end.outcome === "failed" ? end.message : "", /too large/u);
});

test("a broker that says nothing is given up at the deadline", async () => {
  const clock = new FakeClock();
  await using broker = await rawBroker(Buffer.alloc(0), "stay");
  const client = new BrokerClient({ socketPath: broker.path, timeoutMs: 1_000, clock, onFailure: () => {} });
  const calling = client.call(REQUEST, { onPending: () => {}, signal: never });
  await broker.connection;
  await clock.advance(1_000);
  const end = await calling;
  assert.match(end.outcome === "failed" ? end.message : "", /did not answer/u);
});

test("an approval is waited for until it expires and the timeout has passed, and no longer", async () => {
  const clock = new FakeClock();
  const expires = new Date(clock.now() + 60_000).toISOString();
  await using broker = await rawBroker(pending(expires), "stay");
  const client = new BrokerClient({ socketPath: broker.path, timeoutMs: 1_000, clock, onFailure: () => {} });
  let ended = false;
  const asked = Promise.withResolvers<void>();
  const calling = client.call(REQUEST, { onPending: () => asked.resolve(), signal: never }).finally(() => {
    ended = true;
  });
  await asked.promise;
  await clock.advance(60_999);
  assert.equal(ended, false);
  await clock.advance(1);
  assert.equal((await calling).outcome, "failed");
});

test("an approval that expires in a thousand years is waited for a day at most", async () => {
  const clock = new FakeClock();
  await using broker = await rawBroker(pending("3027-01-01T00:00:00.000Z"), "stay");
  const client = new BrokerClient({ socketPath: broker.path, timeoutMs: 1_000, clock, onFailure: () => {} });
  const asked = Promise.withResolvers<void>();
  const calling = client.call(REQUEST, { onPending: () => asked.resolve(), signal: never });
  await asked.promise;
  await clock.advance(24 * 3_600_000 + 1_000);
  assert.equal((await calling).outcome, "failed");
});

test("a cancelled turn gives up an approval at once, and brokerd sees the connection close", async () => {
  await using broker = await rawBroker(pending(LATER), "stay");
  const client = new BrokerClient({ socketPath: broker.path, timeoutMs: 10_000, clock: systemClock, onFailure: () => {} });
  const cancel = new AbortController();
  const calling = client.call(REQUEST, { onPending: () => cancel.abort(), signal: cancel.signal });
  const closed = broker.connection.then(async (socket) => {
    await once(socket, "close");
  });
  assert.deepEqual(await calling, { outcome: "cancelled" });
  await closed;
});

test("a cancelled turn waits for a call that may be running", async () => {
  await using broker = await rawBroker(Buffer.alloc(0), "stay");
  const client = new BrokerClient({ socketPath: broker.path, timeoutMs: 10_000, clock: systemClock, onFailure: () => {} });
  const cancel = new AbortController();
  const calling = client.call(REQUEST, { onPending: () => {}, signal: cancel.signal });
  const socket = await broker.connection;
  cancel.abort();
  socket.write(ok(1, true));
  assert.equal((await calling).outcome, "result");
});
