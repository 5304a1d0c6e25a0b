import assert from "node:assert/strict";
import { test } from "node:test";
import { ApprovalId } from "@boxmaker/proto";
import { askBlock, DIGEST, EXPIRES } from "../support/asks.ts";
import { BxctlProcess } from "../support/bxctl-process.ts";
import { type LoopConnection, listenAdmin, listenLoop, sendDone, sendEvent } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";

const APPROVAL = ApprovalId.parse(41);

function sendAsk(connection: LoopConnection): void {
  sendEvent(connection, { event: "tool_call", tool: "shell" });
  sendEvent(connection, { event: "approval_pending", approval: APPROVAL, tool: "shell", expires: EXPIRES });
}

test("--say writes the answer alone to standard output, and what happens to standard error", async () => {
  await using home = await tempHome();
  await using loop = await listenLoop(home.loop, (_turn, connection) => {
    sendEvent(connection, { event: "reasoning", text: "let me look" });
    sendEvent(connection, { event: "text", text: "I'll read it." });
    sendEvent(connection, { event: "tool_call", tool: "read_file" });
    sendEvent(connection, { event: "tool_result", tool: "read_file", class: "private", truncated: true });
    sendEvent(connection, { event: "taint", from: "public", to: "private", untrusted: false, tool: "read_file" });
    sendEvent(connection, { event: "tool_denied", tool: "shell", reason: "grants_invalid" });
    sendDone(connection, "milk\n\teggs");
  });
  const { status, stdout, stderr } = await BxctlProcess.run(["chat", "--say", "what is in my notes?", "--home", home.path]);
  assert.equal(stdout, "milk\n\teggs\n");
  assert.equal(status, 0);
  assert.match(
    stderr,
    /^session chat-[0-9]{8}-[0-9]{6}-[0-9a-f]{8}\n┊ let me look\n• read_file: done, private, truncated\n• this session has now seen private data \(public before\), by read_file\n• shell: denied: the grants can't be read, so that nothing is allowed; see docs\/runbook\.md#grants-invalid\n$/u,
  );
  const [turn] = loop.requests;
  assert.ok(turn?.kind === "turn");
  assert.deepEqual({ resume: turn.body.resume, text: turn.body.text }, { resume: false, text: "what is in my notes?" });
});

test("a named session is resumed, and started where it doesn't exist; its id isn't said", async () => {
  await using home = await tempHome();
  await using loop = await listenLoop(home.loop, (turn, connection) => {
    if (turn.resume) connection.send({ kind: "error", body: { code: "no_such_session", detail: "unknown" } }, true);
    else sendDone(connection, "hello");
  });
  const ran = await BxctlProcess.run(["--home", home.path, "chat", "--session", "holidays", "--say", "hi"]);
  assert.deepEqual(ran, { status: 0, stdout: "hello\n", stderr: "" });
  assert.deepEqual(
    loop.requests.map(({ body }) => body),
    [
      { session: "holidays", resume: true, text: "hi" },
      { session: "holidays", resume: false, text: "hi" },
    ],
  );
});

test("a turn that fails is one line and status 1 with --say", async () => {
  await using home = await tempHome();
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    connection.send({ kind: "error", body: { code: "inference", detail: "no model\u001b[2J; see docs/runbook.md#x" } }, true);
  });
  const ran = await BxctlProcess.run(["chat", "--session", "a", "--say", "hi", "--home", home.path]);
  const line = "turn failed: inference: no model\\u001b[2J; see docs/runbook.md#x\n";
  assert.deepEqual(ran, { status: 1, stdout: "", stderr: line });
});

test("without loopd there is one line with a pointer, and status 1, with --say and without", async () => {
  await using home = await tempHome();
  for (const words of [["--say", "hi"], []]) {
    const { status, stdout, stderr } = await BxctlProcess.run(["chat", "--home", home.path, ...words]);
    assert.equal(status, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^(bxctl|turn failed): loopd isn't running: there is no socket ".*"; see docs\/runbook\.md#loopd-away\n$/u,
    );
  }
});

test("a loopd that dies in the middle of a turn is one line that says what was running", async () => {
  await using home = await tempHome();
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    sendEvent(connection, { event: "tool_call", tool: "shell" });
    connection.end();
  });
  const { status, stdout, stderr } = await BxctlProcess.run(["chat", "--session", "a", "--say", "hi", "--home", home.path]);
  assert.equal(status, 1);
  assert.equal(stdout, "");
  assert.match(
    stderr,
    /^turn failed: loopd closed the connection on socket ".*" before it had answered; whether it acted is unknown; see docs\/runbook\.md#loopd-away; shell was running, and how it ended isn't known\n$/u,
  );
});

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
  await program.wrote("stderr", /waiting; answer with: bxctl approve 41 --digest [0-9a-f]{64}, or: bxctl refuse 41\n/u);
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

test("--json writes each event and the end as one line, and doesn't contact brokerd", async () => {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, () => askBlock());
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    sendAsk(connection);
    sendEvent(connection, { event: "text", text: "a\u202e\u001b" });
    sendDone(connection, "b\u202e");
  });
  const { status, stdout, stderr } = await BxctlProcess.run([
    "chat",
    "--session",
    "a",
    "--say",
    "hi",
    "--json",
    "--home",
    home.path,
  ]);
  assert.equal(status, 0);
  assert.equal(stdout, "b\\u202e\n");
  assert.deepEqual(stderr.split("\n"), [
    '{"kind":"session","body":{"session":"a"}}',
    '{"kind":"turn_event","body":{"event":"tool_call","tool":"shell"}}',
    `{"kind":"turn_event","body":{"event":"approval_pending","approval":41,"tool":"shell","expires":"${EXPIRES}"}}`,
    '{"kind":"turn_event","body":{"event":"text","text":"a\\u202e\\u001b"}}',
    '{"kind":"turn_done","body":{"content":"b\\u202e","usage":{"prompt":10,"completion":5,"cached":null}}}',
    "",
  ]);
  assert.deepEqual(admin.requests, []);
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
    /not approved: what would run now is not what was shown; nothing ran\napproval 41: shell\n(.*\n)* {2}grant {7}"other" in/u,
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

test("a failed turn is one line and the chat goes on", async () => {
  await using home = await tempHome();
  await using loop = await listenLoop(home.loop, (turn, connection) => {
    if (turn.text === "first") connection.end();
    else if (turn.text === "second") connection.bytes(Buffer.from([0, 0, 0, 2, 0x7b, 0x7d]));
    else sendDone(connection, "third time lucky");
  });
  const { status, stdout } = await BxctlProcess.run(["chat", "--home", home.path], "first\nsecond\nthird\n");
  assert.equal(status, 0);
  assert.match(
    stdout,
    /\nturn failed: loopd closed .*\nturn failed: loopd sent what this bxctl can't read \(.*\).*#peer-unreadable\nthird time lucky\n$/u,
  );
  const resumes = loop.requests.flatMap((request) => (request.kind === "turn" ? [request.body.resume] : []));
  assert.deepEqual(resumes, [false, true, true]);
});

test("/help lists the commands, an unknown one and a message too large aren't sent", async () => {
  await using home = await tempHome();
  await using loop = await listenLoop(home.loop, () => undefined);
  const { status, stdout } = await BxctlProcess.run(
    ["chat", "--home", home.path],
    `\n/help\n/halp\u001b\n${"x".repeat(1024 * 1024 + 1)}\n`,
  );
  assert.equal(status, 0);
  assert.match(stdout, /\n\/quit {3}leaves;/u);
  assert.match(stdout, /\n"\/halp\\u001b" is no command here;/u);
  assert.match(stdout, /\nexpected at most 1048576 bytes in one message\n$/u);
  assert.ok(!loop.requests.some(({ kind }) => kind === "turn"));
});

test("Ctrl-C cancels the turn, and the chat goes on", async () => {
  await using home = await tempHome();
  const turn = Promise.withResolvers<LoopConnection>();
  await using loop = await listenLoop(
    home.loop,
    (_turn, connection) => {
      sendEvent(connection, { event: "text", text: "one two three " });
      turn.resolve(connection);
    },
    () =>
      void turn.promise.then((connection) =>
        connection.send({ kind: "error", body: { code: "cancelled", detail: "by the owner" } }, true),
      ),
  );
  await using program = new BxctlProcess(["chat", "--session", "a", "--home", home.path]);
  program.write("count\n");
  await program.wrote("stdout", /three/u);
  program.signal("SIGINT");
  await program.wrote("stdout", /turn cancelled\n/u);
  program.end("/quit\n");
  const { status, stdout } = await program.finished();
  assert.equal(status, 0);
  assert.match(stdout, /three \ncancelling the turn; Ctrl-C again leaves\nturn cancelled\n$/u);
  assert.deepEqual(await loop.received("cancel"), { kind: "cancel", body: { session: "a" } });
});

test("a second Ctrl-C leaves the chat, and with --say it is a failure", async () => {
  await using home = await tempHome();
  const gone: Promise<void>[] = [];
  await using loop = await listenLoop(home.loop, (_turn, connection) => {
    gone.push(connection.closed);
    sendEvent(connection, { event: "text", text: "one two three " });
    sendEvent(connection, { event: "thinking_capped" });
  });
  for (const say of [false, true]) {
    await using program = new BxctlProcess(["chat", "--session", "a", "--home", home.path, ...(say ? ["--say", "count"] : [])]);
    if (!say) program.write("count\n");
    await program.wrote(say ? "stderr" : "stdout", /thinking was cut/u);
    program.signal("SIGINT");
    await program.wrote(say ? "stderr" : "stdout", /Ctrl-C again leaves\n/u);
    program.signal("SIGINT");
    const { status, stdout, stderr } = await program.finished();
    assert.equal(status, say ? 1 : 0);
    assert.match(say ? stderr : stdout, /left in the middle of the turn\n$/u);
  }
  await Promise.all(gone);
  assert.ok(loop.requests.some(({ kind }) => kind === "cancel"));
});
