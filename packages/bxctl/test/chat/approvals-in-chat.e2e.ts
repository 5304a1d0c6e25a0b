import assert from "node:assert/strict";
import { test } from "node:test";
import { askBlock, DIGEST } from "../support/asks.ts";
import { BxctlProcess } from "../support/bxctl-process.ts";
import { type LoopConnection, listenAdmin, listenLoop, sendAsk, sendDone, sendEvent } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";

test("--say shows a waiting call whole on standard error, doesn't ask, and waits for the answer", async () => {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, () => askBlock());
  const turn = Promise.withResolvers<LoopConnection>();
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    sendAsk(connection);
    turn.resolve(connection);
  });
  await using program = new BxctlProcess(["chat", "--session", "a", "--say", "hi", "--home", home.path]);
  program.write("41\n");
  await program.wrote(
    "stderr",
    /waiting; answer with: bxctl approve 41 --digest [0-9a-f]{64} --home \/\S+, or: bxctl refuse 41 --home \/\S+\n/u,
  );
  assert.match(
    program.stderr,
    /approval 41: shell\n {2}command {5}2 lines, 23 bytes, no newline at the end:\n {4}\| "wc -l todo\.md"\n {4}\| "rm -r old"\n/u,
  );
  const connection = await turn.promise;
  sendEvent(connection, { event: "tool_result", tool: "shell", class: "private", truncated: false });
  sendDone(connection, "done");
  const { status, stdout } = await program.finished();
  assert.deepEqual({ status, stdout }, { status: 0, stdout: "done\n" });
  assert.deepEqual(
    admin.requests.map(({ kind }) => kind),
    ["approval"],
  );
});

test("piped lines answer in order, the chat's and the approvals'", async () => {
  await using home = await tempHome();
  const decided = Promise.withResolvers<void>();
  await using admin = await listenAdmin(home.admin, (request) => {
    if (request.kind === "approval") return askBlock();
    decided.resolve();
    return { kind: "approve_result", body: { outcome: "ask" } };
  });
  await using loop = await listenLoop(home.loop, async (turn, connection) => {
    if (turn.text === "count") {
      sendAsk(connection);
      await decided.promise;
      sendEvent(connection, { event: "tool_result", tool: "shell", class: "private", truncated: false });
    }
    sendDone(connection, `answer to ${turn.text}`);
  });
  const { status, stdout, stderr } = await BxctlProcess.run(["chat", "--home", home.path], "count\n41\n//slash\n/quit\nnever\n");
  assert.equal(status, 0);
  assert.equal(stderr, "");
  assert.match(
    stdout,
    /^session chat-\S+\napproval 41: shell\n(.*\n)* {2}digest {6}[0-9a-f]{64}\napproval 41: approved, it runs\n• shell: done, private\nanswer to count\nanswer to \/slash\n$/u,
  );
  assert.deepEqual(admin.requests[1], { kind: "approve", body: { approval: 41, digest: DIGEST } });
  const turns = loop.requests.flatMap((request) => (request.kind === "turn" ? [request.body] : []));
  assert.deepEqual(
    turns.map(({ text, resume }) => ({ text, resume })),
    [
      { text: "count", resume: false },
      { text: "/slash", resume: true },
    ],
  );
  assert.equal(turns[0]?.session, turns[1]?.session);
});

for (const [title, answer] of [
  ["another number", "42\n"],
  ["an empty line", "\n"],
  ["a word", "yes\n"],
  ["the number with a blank before it", " 41\n"],
  ["the number with a plus sign", "+41\n"],
  ["the number in other digits", "４１\n"],
  ["the end of input", ""],
] as const) {
  test(`${title} refuses a waiting call`, async () => {
    await using home = await tempHome();
    const decided = Promise.withResolvers<void>();
    await using admin = await listenAdmin(home.admin, (request) => {
      if (request.kind === "approval") return askBlock();
      decided.resolve();
      return { kind: "ok", body: {} };
    });
    await using _loop = await listenLoop(home.loop, async (_turn, connection) => {
      sendAsk(connection);
      await decided.promise;
      sendEvent(connection, { event: "tool_denied", tool: "shell", reason: "approval_refused" });
      sendDone(connection, "very well");
    });
    const { status, stdout } = await BxctlProcess.run(["chat", "--home", home.path], `count\n${answer}`);
    assert.equal(status, 0);
    assert.match(stdout, /\napproval 41: refused, it doesn't run\n• shell: denied: it was refused\nvery well\n$/u);
    assert.deepEqual(admin.requests[1], { kind: "refuse", body: { approval: 41, reason: null } });
  });
}

test("a call that changed meanwhile is shown and asked about again, under its new digest", async () => {
  await using home = await tempHome();
  const decided = Promise.withResolvers<void>();
  const changed = "c".repeat(64);
  let looks = 0;
  await using admin = await listenAdmin(home.admin, (request) => {
    if (request.kind === "approval") return looks++ === 0 ? askBlock() : askBlock({ grant: "other" }, changed);
    if (request.kind === "approve" && request.body.digest === DIGEST)
      return { kind: "approve_result", body: { outcome: "changed" } };
    decided.resolve();
    return { kind: "approve_result", body: { outcome: "allowed" } };
  });
  await using _loop = await listenLoop(home.loop, async (_turn, connection) => {
    sendAsk(connection);
    await decided.promise;
    sendDone(connection, "done");
  });
  const { stdout } = await BxctlProcess.run(["chat", "--home", home.path], "count\n41\n41\n");
  assert.match(
    stdout,
    /not approved: what would run now is not what was shown; nothing ran; see docs\/runbook\.md#approval-changed\napproval 41: shell\n(.*\n)* {2}grant {7}"other" in/u,
  );
  assert.deepEqual(admin.requests[3], { kind: "approve", body: { approval: 41, digest: changed } });
});

test("an approval that is denied at the last moment says so, with the pointer", async () => {
  await using home = await tempHome();
  const decided = Promise.withResolvers<void>();
  await using _admin = await listenAdmin(home.admin, (request) => {
    if (request.kind === "approval") return askBlock();
    decided.resolve();
    return { kind: "approve_result", body: { outcome: "denied", reason: "audit_unavailable" } };
  });
  await using _loop = await listenLoop(home.loop, async (_turn, connection) => {
    sendAsk(connection);
    await decided.promise;
    sendDone(connection, "done");
  });
  const { stdout } = await BxctlProcess.run(["chat", "--home", home.path], "count\n41\n");
  assert.match(
    stdout,
    /\napproval 41: approved, but denied now: the audit log can't be written, .*; see docs\/runbook\.md#audit-unavailable\n/u,
  );
});

test("a question that was answered elsewhere is taken back, and the next line is the chat's again", async () => {
  await using home = await tempHome();
  const turn = Promise.withResolvers<LoopConnection>();
  await using admin = await listenAdmin(home.admin, () => askBlock());
  await using loop = await listenLoop(home.loop, (body, connection) => {
    if (body.text !== "count") {
      sendDone(connection, "yes?");
      return;
    }
    sendAsk(connection);
    turn.resolve(connection);
  });
  await using program = new BxctlProcess(["chat", "--home", home.path]);
  program.write("count\n");
  await program.wrote("stdout", /\n {2}digest /u);
  const connection = await turn.promise;
  sendEvent(connection, { event: "tool_result", tool: "shell", class: "private", truncated: false });
  sendDone(connection, "done");
  await program.wrote("stdout", /no longer waiting here: .*\n• shell: done, private\ndone\n/u);
  program.end("41\n");
  await program.finished();
  assert.equal(loop.requests.at(-1)?.kind, "turn");
  assert.ok(!admin.requests.some(({ kind }) => kind === "approve"));
});

test("without brokerd a waiting call is one line with a pointer, and the turn goes on", async () => {
  await using home = await tempHome();
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    sendAsk(connection);
    sendEvent(connection, { event: "tool_denied", tool: "shell", reason: "approval_expired" });
    sendDone(connection, "nobody answered");
  });
  const { status, stdout } = await BxctlProcess.run(["chat", "--home", home.path], "count\n");
  assert.equal(status, 0);
  assert.match(stdout, /• shell: denied: nobody answered in time\nnobody answered\n$/u);
});
