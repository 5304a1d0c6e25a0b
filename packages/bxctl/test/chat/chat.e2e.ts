import assert from "node:assert/strict";
import { test } from "node:test";
import { askBlock, EXPIRES } from "../support/asks.ts";
import { BxctlProcess } from "../support/bxctl-process.ts";
import { type LoopConnection, listenAdmin, listenLoop, sendAsk, sendDone, sendEvent } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";

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
    /^turn failed: loopd closed the connection on socket ".*" before it had answered; whether it acted is unknown; see docs\/runbook\.md#loopd-away; shell had no result yet\n$/u,
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

test("--json without --say takes lines, asks nothing, and shows no prompt", async () => {
  await using home = await tempHome();
  await using admin = await listenAdmin(home.admin, () => askBlock());
  await using _loop = await listenLoop(home.loop, (turn, connection) => {
    sendAsk(connection);
    if (turn.text === "two") connection.send({ kind: "error", body: { code: "turn_limit", detail: "" } }, true);
    else sendDone(connection, `answer to ${turn.text}`);
  });
  const { status, stdout, stderr } = await BxctlProcess.run(["chat", "--json", "--home", home.path], "one\ntwo\nthree\n");
  assert.equal(status, 0);
  assert.equal(stdout, "answer to one\nanswer to three\n");
  const kinds = stderr.match(/^\{"kind":"[a-z_]+"/gmu)?.map((start) => start.slice(9, -1));
  const turn = ["turn_event", "turn_event"];
  assert.deepEqual(kinds, ["session", ...turn, "turn_done", ...turn, "error", ...turn, "turn_done"]);
  assert.deepEqual(admin.requests, []);
});

test("Ctrl-C at the prompt of a script leaves", async () => {
  await using home = await tempHome();
  await using _loop = await listenLoop(home.loop, () => undefined);
  await using program = new BxctlProcess(["chat", "--home", home.path]);
  await program.wrote("stdout", /session chat-/u);
  // The prompt comes right after the session's id, with nothing in between that waits.
  program.write("/help\n");
  await program.wrote("stdout", /anything else refuses\./u);
  program.signal("SIGINT");
  assert.equal((await program.finished()).status, 0);
});
