/** What one client can't do to the others, or to brokerd's memory. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, statSync } from "node:fs";
import { test } from "node:test";
import { type AdminAnswer, type ApprovalAnswer, ApprovalId, MAX_FRAME, timestampFromMillis } from "@boxmaker/proto";
import { adminSocket } from "../../src/socket/admin-socket.ts";
import { approvalSocket } from "../../src/socket/approval-socket.ts";
import { brokerSocket } from "../../src/socket/broker-socket.ts";
import { Connections } from "../../src/socket/connections.ts";
import { type Send, serveSocket } from "../../src/socket/serve-socket.ts";
import { ask, Client, frameOf } from "../support/client.ts";
import { BoxFiles, Rig } from "../support/rig.ts";
import { call, LIMITS, type Served, serve } from "../support/served.ts";

const HEADER_BYTES = 4;

/** One watching of each kind: how it is served, and asked for. */
interface WatchKind {
  readonly name: string;
  readonly watch: (served: Served, ending: AbortSignal, send: Send<AdminAnswer | ApprovalAnswer>) => Promise<void>;
}

const NEVER_GONE = new AbortController().signal;

const WATCH_KINDS: readonly WatchKind[] = [
  {
    name: "watch",
    watch: async ({ rig, admin: path }, ending, send) => {
      const started = timestampFromMillis(rig.clock.now());
      const state = { version: "0.1.0", started, startedAt: 0, isLowOnSpace: async () => false };
      const { ledger, approvals, table, clock, events } = rig;
      const connections = { size: 0, ending };
      const socket = adminSocket({ path, ledger, approvals, table, clock, events, connections, ...state });
      await socket.handle({ kind: "watch", body: {} }, send, NEVER_GONE);
    },
  },
  {
    name: "watch_asks",
    watch: async ({ rig: { approvals, table, events }, approval: path }, ending, send) => {
      const socket = approvalSocket({ path, approvals, table, events, connections: { ending } });
      await socket.handle({ kind: "watch_asks", body: {} }, send, NEVER_GONE);
    },
  },
];

/** An ask that waits, and with it as many more as are made of it. */
async function waitingAsk(
  served: Served,
): Promise<Disposable & { readonly add: (id: number) => void; readonly take: (id: number) => void }> {
  const { table } = served.rig;
  const client = await Client.request(served.broker, call(served, "write_file", "chat-1", "phone"));
  await client.next();
  const [waiting] = table.list();
  assert.ok(waiting !== undefined);
  return {
    add: (id) => table.add({ ...waiting, id: ApprovalId.parse(id) }),
    take: (id) => table.take(ApprovalId.parse(id), "gone"),
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

for (const { name, watch } of WATCH_KINDS) {
  test(`a watcher (${name}) that doesn't take its events is cut off with an error, and holds no more of them than the limit`, async () => {
    await using served = await serve();
    using asks = await waitingAsk(served);
    const taken = Promise.withResolvers<"sent">();
    const sent: (AdminAnswer | ApprovalAnswer)[] = [];
    const watching = watch(served, NEVER_GONE, async (message) => {
      sent.push(message);
      return await taken.promise;
    });
    for (let id = 1000; id < 3000; id++) {
      asks.add(id);
      asks.take(id);
    }
    taken.resolve("sent");
    await watching;
    assert.equal(sent.length, 2);
    assert.deepEqual(sent.at(-1), {
      kind: "error",
      body: { code: "limit", detail: "the watcher doesn't take its events fast enough" },
    });
  });

  test(`a watcher (${name}) is told of all that waits already, however much it is`, async () => {
    await using served = await serve();
    using asks = await waitingAsk(served);
    for (let id = 1000; id < 3000; id++) asks.add(id);
    const ending = new AbortController();
    const sent: (AdminAnswer | ApprovalAnswer)[] = [];
    await watch(served, ending.signal, async (message) => {
      sent.push(message);
      if (sent.length === 2001) ending.abort();
      return "sent";
    });
    assert.equal(sent.filter(({ kind }) => kind === "approval_event" || kind === "ask_event").length, 2001);
    assert.deepEqual(sent.at(-1), { kind: "error", body: { code: "cancelled", detail: "brokerd is stopping" } });
    for (let id = 1000; id < 3000; id++) asks.take(id);
  });
}

test("past the limit of connections a client is told busy, and a flood is one line of the log", async () => {
  await using served = await serve({ connections: 2 });
  const held = await Promise.all([Client.connect(served.broker), Client.connect(served.broker)]);
  while (served.connections.size < 2) await new Promise(setImmediate);
  for (let attempt = 0; attempt < 5; attempt++) {
    using client = await Client.connect(served.broker);
    const answer = await client.next();
    assert.equal(answer?.id, 0);
    assert.deepEqual(answer?.message, {
      kind: "error",
      body: {
        code: "busy",
        detail: "too many connections are open at the same time, try again; see docs/runbook.md#too-many-connections",
      },
    });
  }
  assert.equal(served.rig.lines.filter((line) => line.includes("connection-refused")).length, 1);
  // The owner's socket has a limit of its own.
  assert.equal((await ask(served.admin, { kind: "status", body: {} })).kind, "status_report");
  for (const client of held) client.socket.destroy();
  while (served.connections.size > 0) await new Promise(setImmediate);
  assert.equal((await ask(served.broker, call(served, "read_file"))).kind, "tool_response");
});

test("past the limit of bytes that are held a request is answered limit; the room comes back when its holders leave", async () => {
  await using served = await serve({ bytesInFlight: MAX_FRAME + HEADER_BYTES });
  using holder = await Client.connect(served.broker);
  const most = Buffer.alloc(MAX_FRAME);
  most.writeUInt32BE(MAX_FRAME, 0);
  holder.socket.write(most);
  await once(holder.socket, "drain");
  const answers: (string | undefined)[] = [];
  // What is still on its way to brokerd counts when it arrives.
  while (answers.at(-1) !== "limit") {
    const answer = await ask(served.broker, call(served, "read_file"));
    answers.push(answer.kind === "error" ? answer.body.code : undefined);
  }
  assert.equal((await ask(served.admin, { kind: "status", body: {} })).kind, "status_report");
  holder.socket.destroy();
  for (;;) {
    const answer = await ask(served.broker, call(served, "read_file"));
    if (answer.kind === "tool_response") break;
  }
});

test("frames that a waiting requester goes on sending aren't held in memory", async () => {
  await using served = await serve({ bytesInFlight: 2 * (MAX_FRAME + HEADER_BYTES) });
  using client = await Client.request(served.broker, call(served, "write_file"));
  await client.next();
  const surplus = Buffer.alloc(64 * 1024, " ");
  surplus.writeUInt32BE(surplus.length - HEADER_BYTES, 0);
  let isBlocked = false;
  client.socket.on("error", () => undefined);
  for (let frame = 0; frame < 1024 && !isBlocked && !client.socket.destroyed; frame++) {
    isBlocked = !client.socket.write(surplus);
    await new Promise(setImmediate);
  }
  // Either it is made to wait or its connection is over; in both cases brokerd has stopped reading.
  assert.equal((await ask(served.admin, { kind: "status", body: {} })).kind, "status_report");
  assert.ok(isBlocked || client.socket.destroyed);
});

test("a request cut at any byte, or with any byte damaged, is answered at most with an error, and the socket goes on", async () => {
  await using served = await serve({ readDeadlineMs: 60_000 });
  const frame = frameOf(call(served, "read_file"));
  for (let cut = 0; cut < frame.length; cut++) {
    using client = await Client.connect(served.broker);
    client.socket.end(frame.subarray(0, cut));
    const answer = await client.next();
    if (cut === 0) assert.equal(answer, undefined);
    else assert.equal(answer?.message.kind === "error" && answer.message.body.code, "bad_frame");
  }
  for (let at = 0; at < frame.length; at += 5) {
    const damaged = Buffer.from(frame);
    damaged[at] = (damaged[at] ?? 0) ^ 0x1f;
    using client = await Client.connect(served.broker);
    client.socket.end(damaged);
    await client.next();
  }
  assert.equal((await ask(served.broker, call(served, "read_file", "after"))).kind, "tool_response");
  assert.ok(served.rig.lines.every((line) => line.indexOf("\n") === line.length - 1));
  assert.ok(served.rig.lines.every((line) => !line.includes(" bug ")));
});

test("a client that doesn't read its answer doesn't slow the others", async () => {
  await using served = await serve({ writeDeadlineMs: 60_000 });
  served.rig.runtime.answer = () => ({ kind: "done", status: "ok", content: "x".repeat(1024 * 1024), truncated: false });
  const deaf = await Promise.all(
    Array.from({ length: 16 }, (_, index) => Client.request(served.broker, call(served, "read_file", `deaf-${index}`))),
  );
  for (const client of deaf) client.socket.pause();
  for (let round = 0; round < 5; round++)
    assert.equal((await ask(served.broker, call(served, "read_file", "alert"))).kind, "tool_response");
  for (const client of deaf) client.socket.destroy();
});

test("a socket isn't served from a directory that others can write or that is open and holds other things", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  mkdirSync(files.at("home"), { mode: 0o755 });
  mkdirSync(files.at("home/letters"));
  const served = brokerSocket("broker", files.at("home/b.sock"), "terminal", rig.calls, rig.events);
  const listening = await serveSocket(served, () => LIMITS, rig.events, new Connections());
  assert.equal(listening.kind === "refused" && /open to others and holds other things/u.test(listening.problem), true);
  assert.equal(statSync(files.at("home")).mode & 0o777, 0o755);
});
