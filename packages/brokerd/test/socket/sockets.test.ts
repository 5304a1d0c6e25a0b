import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import {
  type AbsPath,
  type AdminAnswer,
  ApprovalId,
  type BrokerRequest,
  CallId,
  MAX_FRAME,
  SessionId,
  timestampFromMillis,
} from "@boxmaker/proto";
import { adminSocket } from "../../src/socket/admin-socket.ts";
import { brokerSocket } from "../../src/socket/broker-socket.ts";
import { Connections } from "../../src/socket/connections.ts";
import { type SocketLimits, serveSocket } from "../../src/socket/serve-socket.ts";
import { ask, Client, frameOf } from "../support/client.ts";
import { BoxFiles, Rig, type RigOptions } from "../support/rig.ts";

const LIMITS: SocketLimits = { connections: 64, bytesInFlight: 64 * 1024 * 1024, readDeadlineMs: 60_000, writeDeadlineMs: 60_000 };
const HEADER_BYTES = 4;

interface Served extends AsyncDisposable {
  readonly rig: Rig;
  readonly files: BoxFiles;
  readonly broker: AbsPath;
  readonly mcp: AbsPath;
  readonly admin: AbsPath;
  readonly connections: Connections;
  readonly stop: () => Promise<void>;
}

async function serve(limits: Partial<SocketLimits> = {}, options: RigOptions = {}): Promise<Served> {
  const files = new BoxFiles();
  files.grant("read", "read_file", "auto");
  files.grant("write", "write_file", "ask");
  const rig = await Rig.open(files, options);
  const { ledger, approvals, table, events } = rig;
  const connections = new Connections();
  const [broker, mcp, admin] = [files.at("b/b.sock"), files.at("m/m.sock"), files.at("a/a.sock")];
  const started = timestampFromMillis(rig.clock.now());
  const all = { ...LIMITS, ...limits };
  const listenings = [
    await serveSocket(brokerSocket("broker", broker, "terminal", rig.calls), all, events, connections),
    await serveSocket(brokerSocket("broker-mcp", mcp, "mcp", rig.calls), all, events, connections),
    await serveSocket(
      adminSocket({ path: admin, ledger, approvals, table, version: "0.1.0", started, ending: connections.ending }),
      all,
      events,
      connections,
    ),
  ];
  const servers = listenings.map((listening) => {
    if (listening.kind === "refused") throw new Error(listening.problem);
    return listening.server;
  });
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    connections.endIdle();
    await rig.calls.stop(AbortSignal.abort());
    await connections.end();
  };
  return {
    rig,
    files,
    broker,
    mcp,
    admin,
    connections,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await Promise.all(servers.map((server) => server.closed));
      await rig[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    },
  };
}

function call(served: Served, tool: "read_file" | "write_file", session = "chat-1"): BrokerRequest {
  const path = served.files.at("notes/todo.md");
  const args = tool === "read_file" ? { path } : { path, content: "x" };
  return {
    kind: "tool_request",
    body: { session: SessionId.parse(session), call: CallId.parse(1), tool, arguments: JSON.stringify(args) },
  };
}

test("a tool request is answered on the broker's socket under the id that it came with", async () => {
  await using served = await serve();
  using client = await Client.request(served.broker, call(served, "read_file"));
  const answer = await client.next();
  assert.deepEqual(answer, {
    id: 7,
    final: true,
    message: {
      kind: "tool_response",
      body: { outcome: "result", content: "hello from the tool", class: "private", untrusted: false, truncated: false },
    },
  });
  assert.equal(await client.next(), undefined);
  for (const path of [served.broker, served.admin]) {
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  }
});

test("a kind on the wrong socket is forbidden, logged in one line, and does nothing", async () => {
  await using served = await serve();
  const forbidden = { kind: "error", body: { code: "forbidden", detail: "this kind of request doesn't belong on this socket" } };
  assert.deepEqual(await ask(served.admin, call(served, "read_file")), forbidden);
  assert.deepEqual(await ask(served.broker, { kind: "approvals", body: {} }), forbidden);
  assert.deepEqual(await ask(served.mcp, { kind: "status", body: {} }), forbidden);
  assert.equal(served.rig.runtime.runs.length, 0);
  assert.equal(served.rig.ledger.head, 0);
  assert.deepEqual(
    served.rig.lines.map((line) => line.split(" ").slice(2).join(" ")),
    [
      "forbidden socket=admin kind=tool_request\n",
      "forbidden socket=broker kind=approvals\n",
      "forbidden socket=broker-mcp kind=status\n",
    ],
  );
});

test("a session of one socket is forbidden on another kind's", async () => {
  await using served = await serve();
  await ask(served.broker, call(served, "read_file", "mine"));
  const answer = await ask(served.mcp, call(served, "read_file", "mine"));
  assert.deepEqual(answer, {
    kind: "error",
    body: { code: "forbidden", detail: "this session belongs to another kind of client" },
  });
  assert.equal(served.rig.runtime.runs.length, 1);
});

test("the owner lists, looks, approves, and the requester gets its pending frame and then its result", async () => {
  await using served = await serve();
  using client = await Client.request(served.broker, call(served, "write_file"));
  const pending = await client.next();
  assert.equal(pending?.final, false);
  const list = await ask(served.admin, { kind: "approvals", body: {} });
  assert.equal(list.kind, "approval_list");
  if (list.kind !== "approval_list" || list.body.approvals[0] === undefined) return;
  const { approval } = list.body.approvals[0];
  assert.deepEqual(pending?.message, { kind: "pending_approval", body: { approval, expires: list.body.approvals[0].expires } });
  const block = await ask(served.admin, { kind: "approval", body: { approval } });
  assert.equal(block.kind, "approval_block");
  if (block.kind !== "approval_block") return;
  const result = await ask(served.admin, { kind: "approve", body: { approval, digest: block.body.digest } });
  assert.deepEqual(result, { kind: "approve_result", body: { outcome: "ask" } });
  assert.equal((await client.final()).kind, "tool_response");
});

for (const [how, leave] of [
  ["closes", (client: Client) => client.socket.destroy()],
  ["ends its side", (client: Client) => client.socket.end()],
  ["sends one byte more", (client: Client) => client.socket.write("x")],
  ["sends a second request", (client: Client) => client.socket.write(frameOf({ kind: "status", body: {} }))],
] as const) {
  test(`a requester that ${how} while it waits is gone, and its ask with it`, async () => {
    await using served = await serve();
    const changed = Promise.withResolvers<string>();
    served.rig.table.subscribe((_, change) => {
      if (change !== "pending") changed.resolve(change);
    });
    using client = await Client.request(served.broker, call(served, "write_file"));
    await client.next();
    leave(client);
    assert.equal(await changed.promise, "gone");
    await served.rig.calls.stop(AbortSignal.abort());
    assert.deepEqual(
      served.files.events("approval").map(({ answer }) => answer),
      ["gone"],
    );
  });
}

test("watch streams what waits already and each change, and ends with an error when brokerd stops", async () => {
  await using served = await serve();
  using first = await Client.request(served.broker, call(served, "write_file", "one"));
  await first.next();
  using watcher = await Client.request(served.admin, { kind: "watch", body: {} });
  const waiting = await watcher.next();
  assert.equal(waiting?.message.kind, "approval_event");
  using second = await Client.request(served.broker, call(served, "write_file", "two"));
  await second.next();
  const appeared = await watcher.next();
  assert.equal(appeared?.message.kind === "approval_event" && appeared.message.body.change, "pending");
  first.socket.destroy();
  const gone = await watcher.next();
  assert.deepEqual(
    gone?.message.kind === "approval_event" && waiting?.message.kind === "approval_event" && gone.message.body,
    waiting?.message.kind === "approval_event" && { approval: waiting.message.body.approval, change: "gone" },
  );
  await served.stop();
  const last = await watcher.next();
  assert.equal(last?.message.kind === "approval_event" && last.message.body.change, "gone");
  assert.deepEqual(await watcher.final(), { kind: "error", body: { code: "cancelled", detail: "brokerd is stopping" } });
});

test("a watcher that doesn't take its events is cut off with an error, and holds no more of them than the limit", async () => {
  await using served = await serve();
  const { table, ledger, approvals, clock } = served.rig;
  using client = await Client.request(served.broker, call(served, "write_file"));
  await client.next();
  const [waiting] = table.list();
  assert.ok(waiting !== undefined);
  const started = timestampFromMillis(clock.now());
  const ending = new AbortController().signal;
  const socket = adminSocket({ path: served.admin, ledger, approvals, table, version: "0.1.0", started, ending });
  const taken = Promise.withResolvers<"sent">();
  const sent: AdminAnswer[] = [];
  const send = async (message: AdminAnswer): Promise<"sent"> => {
    sent.push(message);
    return await taken.promise;
  };
  const watching = socket.handle({ kind: "watch", body: {} }, send, new AbortController().signal);
  for (let id = 1000; id < 3000; id++) {
    table.add({ ...waiting, id: ApprovalId.parse(id) });
    table.take(ApprovalId.parse(id), "gone");
  }
  taken.resolve("sent");
  await watching;
  assert.equal(sent.length, 2);
  assert.deepEqual(sent.at(-1), {
    kind: "error",
    body: { code: "limit", detail: "the watcher doesn't take its events fast enough" },
  });
});

test("a stop gives every request its answer before it closes the connection, and closes those that asked nothing", async () => {
  await using served = await serve();
  const waiting = await Promise.all(
    Array.from({ length: 20 }, (_, index) => Client.request(served.broker, call(served, "write_file", `s-${index}`))),
  );
  for (const client of waiting) assert.equal((await client.next())?.message.kind, "pending_approval");
  using idle = await Client.connect(served.broker);
  while (served.connections.size < 21) await new Promise(setImmediate);
  await served.stop();
  for (const client of waiting) {
    assert.deepEqual(await client.final(), { kind: "tool_response", body: { outcome: "denied", reason: "shutting_down" } });
    client.socket.destroy();
  }
  assert.equal(await idle.next(), undefined);
});

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
      body: { code: "busy", detail: "too many connections are open at the same time, try again" },
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
  for (let cut = 0; cut < frame.length; cut += 3) {
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

test("a handler that fails answers internal, logs the bug in one line, and the socket goes on", async () => {
  await using served = await serve({}, { ledger: { newSession: async () => await Promise.reject(new Error("a\nbug")) } });
  assert.deepEqual(await ask(served.broker, call(served, "read_file")), {
    kind: "error",
    body: { code: "internal", detail: "the request failed in brokerd; its log has the cause" },
  });
  assert.equal(served.rig.lines.filter((line) => line.includes(" bug ")).length, 1);
  assert.ok(served.rig.lines.every((line) => line.indexOf("\n") === line.length - 1));
  assert.equal((await ask(served.admin, { kind: "status", body: {} })).kind, "status_report");
});

test("the owner's other questions are answered and change nothing", async () => {
  await using served = await serve();
  await ask(served.broker, call(served, "read_file"));
  const { head } = served.rig.ledger;
  const session = SessionId.parse("chat-1");
  const report = await ask(served.admin, { kind: "session", body: { session } });
  assert.equal(report.kind === "session_report" && report.body.raised_by.length, 1);
  const unknown = await ask(served.admin, { kind: "session", body: { session: SessionId.parse("nobody") } });
  assert.equal(unknown.kind === "error" && unknown.body.code, "no_such_session");
  const path = served.files.at("notes/a");
  const explained = await ask(served.admin, {
    kind: "explain",
    body: {
      session: null,
      state: { taint: "secret", untrusted: true },
      tool: "write_file",
      arguments: JSON.stringify({ path, content: "" }),
    },
  });
  assert.deepEqual(explained.kind === "explanation" && [explained.body.outcome, explained.body.reason], ["denied", "taint"]);
  const grants = await ask(served.admin, { kind: "check_grants", body: {} });
  assert.deepEqual(grants, { kind: "grants_report", body: { grants: 2, problems: [] } });
  const status = await ask(served.admin, { kind: "status", body: {} });
  assert.deepEqual(status, {
    kind: "status_report",
    body: {
      version: "0.1.0",
      started: timestampFromMillis(served.rig.clock.now()),
      head,
      pending: 0,
      runtime: "bubblewrap",
      grants: 2,
      grants_valid: true,
      audit: "open",
    },
  });
  served.files.grant("broken", "read_file", "often");
  const broken = await ask(served.admin, { kind: "check_grants", body: {} });
  assert.match((broken.kind === "grants_report" && broken.body.problems[0]?.file) || "", /broken\.toml$/u);
  assert.equal(served.rig.ledger.head, head);
});

test("a socket isn't served from a directory that others can write or that is open and holds other things", async () => {
  using files = new BoxFiles();
  await using rig = await Rig.open(files);
  mkdirSync(files.at("home"), { mode: 0o755 });
  mkdirSync(files.at("home/letters"));
  const served = brokerSocket("broker", files.at("home/b.sock"), "terminal", rig.calls);
  const listening = await serveSocket(served, LIMITS, rig.events, new Connections());
  assert.equal(listening.kind === "refused" && /open to others and holds other things/u.test(listening.problem), true);
  assert.equal(statSync(files.at("home")).mode & 0o777, 0o755);
});
