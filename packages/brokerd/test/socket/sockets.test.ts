import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { CallId, SessionId, timestampFromMillis } from "@boxmaker/proto";
import { ask, Client, frameOf } from "../support/client.ts";
import { call, serve } from "../support/served.ts";

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
    body: { code: "forbidden", detail: "this session belongs to another kind of client; see docs/runbook.md#foreign-session" },
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

test("a handler that fails answers internal, logs the bug in one line, and the socket goes on", async () => {
  await using served = await serve({}, { ledger: { newSession: async () => await Promise.reject(new Error("a\nbug")) } });
  assert.deepEqual(await ask(served.broker, call(served, "read_file")), {
    kind: "error",
    body: { code: "internal", detail: "the request failed in brokerd; its log has the cause; see docs/runbook.md#brokerd-bug" },
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
  const own = await ask(served.admin, {
    kind: "explain",
    body: { session, state: null, tool: "read_file", arguments: JSON.stringify({ path }) },
  });
  assert(own.kind === "explanation");
  assert.deepEqual(
    [
      own.body.outcome,
      own.body.before,
      own.body.raised_by.length,
      own.body.matched.map(({ effect, because }) => [effect, because]),
    ],
    ["allowed", { taint: "private", untrusted: false }, 1, [["auto", "mode"]]],
  );
  for (const [tool, reason, problem] of [
    ["read_file", "invalid_arguments", /path/u],
    ["launch", "no_grant", /^unknown tool, expected one of read_file, /u],
  ] as const) {
    const unread = await ask(served.admin, {
      kind: "explain",
      body: { session: null, state: null, tool, arguments: '{"path":"x"}' },
    });
    assert(unread.kind === "explanation");
    assert.deepEqual([unread.body.outcome, unread.body.reason, unread.body.raised_by], ["denied", reason, []]);
    assert.match(unread.body.problem ?? "", problem);
  }
  const grants = await ask(served.admin, { kind: "check_grants", body: {} });
  assert.deepEqual(grants, { kind: "grants_report", body: { grants: 3, problems: [] } });
  const status = await ask(served.admin, { kind: "status", body: {} });
  assert(status.kind === "status_report");
  const { memory_bytes: memory, ...rest } = status.body;
  assert.ok(memory > 1_000_000);
  assert.deepEqual(rest, {
    version: "0.1.0",
    started: timestampFromMillis(served.rig.clock.now()),
    uptime_ms: 0,
    head,
    pending: 0,
    sessions: 1,
    boxes: 0,
    connections: 1,
    runtime: "bubblewrap",
    grants: 3,
    grants_valid: true,
    audit: "open",
    low_space: false,
    calls: { results: 1, failed: 0, denied: [] },
    errors: 0,
    last_error: null,
  });
  served.files.grant("broken", "read_file", "often");
  const broken = await ask(served.admin, { kind: "check_grants", body: {} });
  assert.match((broken.kind === "grants_report" && broken.body.problems[0]?.file) || "", /broken\.toml$/u);
  assert.equal(served.rig.ledger.head, head);
});

test("status says what was answered since the start, by reason, what waits and runs, how long it is up, and the last error", async () => {
  await using served = await serve({}, {});
  const { rig } = served;
  const ask1 = await Client.request(served.broker, call(served, "write_file", "waits"));
  await ask1.next();
  const running = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  rig.runtime.answer = async () => {
    running.resolve();
    await release.promise;
    return { kind: "error", code: "killed", detail: "no" };
  };
  const failing = ask(served.broker, call(served, "read_file", "runs"));
  await running.promise;
  for (let time = 0; time < 2; time++)
    await ask(served.broker, {
      kind: "tool_request",
      body: {
        session: SessionId.parse("lost"),
        call: CallId.parse(time),
        turn: CallId.parse(time),
        tool: "launch",
        arguments: "{}",
      },
    });
  rig.isLowOnSpace = true;
  rig.clock.advance(5000);
  rig.events.bug("x", new Error("a\nb"));
  const during = await ask(served.admin, { kind: "status", body: {} });
  assert(during.kind === "status_report");
  const { pending, boxes, connections, sessions, uptime_ms, low_space, calls, errors, last_error } = during.body;
  assert.deepEqual(
    { pending, boxes, connections, sessions, uptime_ms, low_space, calls, errors },
    {
      pending: 1,
      boxes: 1,
      connections: 3,
      sessions: 3,
      uptime_ms: 5000,
      low_space: true,
      calls: { results: 0, failed: 0, denied: [{ reason: "no_grant", count: 2 }] },
      errors: 1,
    },
  );
  assert.deepEqual([last_error?.time, last_error?.event], [timestampFromMillis(rig.clock.now()), "bug"]);
  assert.match(last_error?.detail ?? "", /^where: x, detail: Error: a\nb/u);
  release.resolve();
  await failing;
  ask1.socket.destroy();
  const after = await ask(served.admin, { kind: "status", body: {} });
  assert.equal(after.kind === "status_report" && after.body.calls.failed, 1);
});
