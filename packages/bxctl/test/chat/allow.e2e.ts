import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminAnswer, AdminRequest, sha256, Timestamp } from "@boxmaker/proto";
import { EXPIRES } from "../support/asks.ts";
import { BxctlProcess } from "../support/bxctl-process.ts";
import { findUnsafe, HOSTILE } from "../support/corpus.ts";
import { explanation } from "../support/explanations.ts";
import { type Connection, listenLoop, ScriptedServer, sendDone } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";
import { findTerminalProblem, Terminal } from "../support/terminal.ts";

const skip = findTerminalProblem() ?? false;
const TEXT = 'id = "session-1"\ntool = "write_file"\n\n[constraints]\npaths = ["/srv/out"]\n';

function allowed(grant: string, text = TEXT): AdminAnswer {
  return { kind: "allowed", body: { grant, text, expires: Timestamp.parse(EXPIRES) } };
}

/** A brokerd that holds every grant until its connection ends, and tells of that. */
async function holding(path: string, order: string[], connections: Connection<AdminAnswer>[] = []) {
  return await ScriptedServer.listen(path, AdminRequest, AdminAnswer, (request, connection) => {
    if (request.kind === "explain") connection.send(explanation(), true);
    if (request.kind !== "allow") return;
    connections.push(connection);
    const grant = `session-${connections.length}`;
    order.push(`given ${grant}`);
    connection.closed.then(
      () => order.push(`closed ${grant}`),
      () => undefined,
    );
    connection.send(allowed(grant), false);
  });
}

test("/allow holds its grant until the next turn has ended, and shows all that it says", async () => {
  await using home = await tempHome();
  const order: string[] = [];
  await using admin = await holding(home.admin, order);
  await using _loop = await listenLoop(home.loop, (turn, connection) => {
    order.push(`turn ${turn.text}`);
    sendDone(connection, `answer to ${turn.text}`);
  });
  const input = "/allow write_file /srv/out uses 2\n/allow http_fetch example.com\none\ntwo\n/quit\n";
  const { status, stdout, stderr } = await BxctlProcess.run(["chat", "--session", "a", "--home", home.path], input);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(
    stdout,
    /^grant session-1, until the next turn ends, 2[0-9 :+-]+ at the latest:\n {2}\| id = "session-1"\n {2}\| tool = "write_file"\n {2}\| \n/u,
  );
  assert.match(stdout, /\nanswer to one\ngrant session-1 ended\ngrant session-2 ended\nanswer to two\n$/u);
  assert.deepEqual(admin.requests, [
    { kind: "allow", body: { session: "a", tool: "write_file", scope: "/srv/out", uses: 2 } },
    { kind: "explain", body: { session: "a", state: null, tool: "write_file", arguments: '{"path":"/srv/out/a","content":""}' } },
    { kind: "allow", body: { session: "a", tool: "http_fetch", scope: "example.com", uses: null } },
    { kind: "explain", body: { session: "a", state: null, tool: "http_fetch", arguments: '{"url":"https://example.com/"}' } },
  ]);
  assert.deepEqual(order.slice(0, 3), ["given session-1", "given session-2", "turn one"]);
  assert.ok(order.indexOf("closed session-1") < order.indexOf("turn two") || order.includes("closed session-1"));
  assert.ok(order.indexOf("closed session-1") > order.indexOf("turn one"));
});

test("a grant that ends by itself is told of after the turn; leaving ends those that no turn came for", async () => {
  await using home = await tempHome();
  const order: string[] = [];
  const connections: Connection<AdminAnswer>[] = [];
  await using _admin = await holding(home.admin, order, connections);
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    connections[0]?.send({ kind: "allow_ended", body: { grant: "session-1", reason: "spent" } }, true);
    connections[1]?.end();
    setImmediate(() => sendDone(connection, "done"));
  });
  await using program = new BxctlProcess(["chat", "--session", "a", "--home", home.path]);
  program.write("/allow shell /srv\n/allow shell /usr/local\ngo\n");
  await program.wrote("stdout", /grant session-2 ended/u);
  assert.match(program.stdout, /\ndone\ngrant session-1 ended(: spent)?\ngrant session-2 ended/u);
  program.write("/allow shell /srv\n");
  await program.wrote("stdout", /grant session-3, until/u);
  program.end("/quit\n");
  assert.equal((await program.finished()).status, 0);
  await connections[2]?.closed;
});

test("what can't be allowed is said with every fault, and the chat goes on", async () => {
  await using home = await tempHome();
  const answers: AdminAnswer[] = [
    {
      kind: "grants_report",
      body: { grants: 0, problems: [{ file: "session grant session-1", line: 7, problem: "constraints.paths: no \u001b[2J" }] },
    },
    { kind: "error", body: { code: "limit", detail: "too many \u202e" } },
    { kind: "ok", body: {} },
  ];
  await using _admin = await ScriptedServer.listen(home.admin, AdminRequest, AdminAnswer, (_request, connection) => {
    const answer = answers.shift();
    if (answer === undefined) connection.end();
    else connection.send(answer, true);
  });
  await using _loop = await listenLoop(home.loop, (_turn, connection) => sendDone(connection, "done"));
  const words = ["chat", "--session", "a", "--home", home.path];
  const { status, stdout } = await BxctlProcess.run(words, `${"/allow shell /srv\n".repeat(4)}/allow x\ngo\n/quit\n`);
  assert.equal(status, 0);
  assert.equal(findUnsafe(stdout), undefined);
  assert.match(
    stdout,
    /^not allowed:\n {2}session grant session-1:7: constraints\.paths: no \\u001b\[2J\n {2}it can't be allowed so; see docs\/runbook\.md#grants-invalid\n/u,
  );
  assert.match(stdout, /\nnot allowed:\n {2}brokerd: limit: too many \\u202e\n/u);
  assert.match(stdout, /\nnot allowed:\n {2}brokerd answered ok where allowed was due; .+#peer-unreadable\n/u);
  assert.match(
    stdout,
    /\nnot allowed:\n {2}brokerd closed the connection .+#brokerd-away\nexpected \/allow TOOL SCOPE .+\ndone\n$/u,
  );
});

test("nothing that brokerd says of the grant can steer the terminal, and with --json nothing is asked", async () => {
  await using home = await tempHome();
  const text = HOSTILE.join("\n");
  const place = { grant: text, file: text, line: 1, sha256: sha256("x") };
  const denied = explanation({
    outcome: "denied",
    reason: "denied_by_grant",
    matched: [{ ...place, mode: "deny", effect: "deny", because: "mode", is_default: false }],
  });
  await using admin = await ScriptedServer.listen(home.admin, AdminRequest, AdminAnswer, (request, connection) => {
    if (request.kind === "explain") connection.send(denied, true);
    else connection.send(allowed(text, text), false);
  });
  await using _loop = await listenLoop(home.loop, (_turn, connection) => sendDone(connection, "done"));
  const words = ["chat", "--session", "a", "--home", home.path];
  const shown = await BxctlProcess.run(words, "/allow shell /srv\ngo\n/quit\n");
  assert.equal(findUnsafe(shown.stdout), undefined);
  assert.match(shown.stdout, /done/u);
  const script = await BxctlProcess.run([...words, "--json"], "/allow shell /srv\n/quit\n");
  assert.match(script.stdout, /^with --json brokerd isn't asked for anything/u);
  assert.equal(admin.requests.length, 2);
});

test("a grant that changes nothing is said to, with what stands in its way", async () => {
  await using home = await tempHome();
  const place = { file: "notes.toml", line: 3, sha256: sha256("x") };
  const asks = explanation({
    outcome: "ask",
    matched: [
      { ...place, grant: "notes", mode: "ask", effect: "ask", because: "mode", is_default: false },
      { ...place, grant: "session-1", mode: "auto", effect: "auto", because: "mode", is_default: false },
    ],
  });
  await using admin = await ScriptedServer.listen(home.admin, AdminRequest, AdminAnswer, (request, connection) => {
    if (request.kind === "explain") connection.send(asks, true);
    else connection.send(allowed("session-1"), false);
  });
  await using _loop = await listenLoop(home.loop, (_turn, connection) => sendDone(connection, "done"));
  const input = "/allow shell /srv\n/allow http_fetch *.example.com\n/allow read_file /srv\n/quit\n";
  const { stdout } = await BxctlProcess.run(["chat", "--session", "a", "--home", home.path], input);
  assert.match(stdout, /\nthough it is in force, a call there still asks:\n {2}"notes" in "notes\.toml" line 3: ask, by mode\n/u);
  assert.doesNotMatch(stdout, /"session-1" in/u);
  assert.deepEqual(
    admin.requests.flatMap((request) => (request.kind === "explain" ? [request.body.arguments] : [])),
    ['{"command":"true","cwd":"/srv"}', '{"url":"https://a.example.com/"}', '{"path":"/srv/a"}'],
  );
});

test("on a terminal, the grant stands before the turn and its end after it", { skip }, async () => {
  await using home = await tempHome();
  const order: string[] = [];
  await using _admin = await holding(home.admin, order);
  await using _loop = await listenLoop(home.loop, (_turn, connection) => sendDone(connection, "all done"));
  await using terminal = new Terminal(home.path, ["chat", "--session", "a", "--home", home.path]);
  await terminal.shows(/^>$/mu);
  terminal.keys("/allow write_file /srv/out uses 2", "Enter");
  await terminal.shows(/^ {2}\| paths = \["\/srv\/out"\]\n>$/mu);
  terminal.keys("go", "Enter");
  await terminal.shows(/^│ all done\ngrant session-1 ended\n>$/mu);
  terminal.keys("/quit", "Enter");
  await terminal.shows(/^ended 0 icanon$/mu);
});
