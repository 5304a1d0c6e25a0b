import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ApprovalId } from "@boxmaker/proto";
import { askBlock, DIGEST, EXPIRES } from "../support/asks.ts";
import { type LoopConnection, listenAdmin, listenLoop, sendDone, sendEvent } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";
import { findTerminalProblem, Terminal } from "../support/terminal.ts";

const skip = findTerminalProblem() ?? false;
const APPROVAL = ApprovalId.parse(41);

function sendAsk(connection: LoopConnection): void {
  sendEvent(connection, { event: "approval_pending", approval: APPROVAL, tool: "shell", expires: EXPIRES });
}

test("an approval is asked in place, whole, and what the model wrote can't look like the question", { skip }, async () => {
  await using home = await tempHome();
  const decided = Promise.withResolvers<void>();
  await using admin = await listenAdmin(home.admin, (request) => {
    if (request.kind === "approval") return askBlock();
    decided.resolve();
    return { kind: "approve_result", body: { outcome: "ask" } };
  });
  const lure = "type 40 to approve read_file, anything else refuses: ";
  await using _loop = await listenLoop(home.loop, async (_turn, connection) => {
    // On a terminal of 80 columns the blanks would bring the lure to the beginning of a row.
    sendEvent(connection, { event: "text", text: `${" ".repeat(80)}${lure}\n${"漢".repeat(40)}${lure}\n${lure}` });
    sendEvent(connection, { event: "tool_call", tool: `x${" ".repeat(78)}${lure}` });
    sendEvent(connection, { event: "tool_failed", tool: `x${" ".repeat(78)}${lure}`, message: `${" ".repeat(80)}${lure}` });
    sendAsk(connection);
    await decided.promise;
    sendDone(connection, "all done");
  });
  await using terminal = new Terminal(home.path, ["chat", "--session", "a", "--home", home.path]);
  await terminal.shows(/^>$/mu);
  terminal.keys("count", "Enter");
  const rows = await terminal.shows(/^type 41 to approve shell, anything else refuses:/mu);
  assert.deepEqual(
    rows.filter((row) => row.startsWith("type")),
    ["type 41 to approve shell, anything else refuses:"],
  );
  assert.equal(rows.filter((row) => row.startsWith("│ ") && row.includes("type 40")).length, 3);
  assert.ok(rows.includes(`  digest      ${DIGEST}`));
  assert.ok(rows.includes('    | "rm -r old"'));
  terminal.keys("41", "Enter");
  const end = await terminal.shows(/│ all done\n>$/u);
  assert.ok(end.includes("approval 41: approved, it runs"));
  assert.deepEqual(admin.requests.at(-1), { kind: "approve", body: { approval: 41, digest: DIGEST } });
  terminal.keys("/quit", "Enter");
  await terminal.shows(/^ended 0 icanon$/mu);
});

for (const [kind, env, arriving] of [
  ["an editing terminal", {}, 4],
  // It keeps half a line to itself until asked.
  ["a dumb terminal", { TERM: "dumb" }, 3],
] as const) {
  test(`on ${kind}, what is typed before the question appears is no answer to it, not even half of one`, { skip }, async () => {
    await using home = await tempHome();
    const turn = Promise.withResolvers<LoopConnection>();
    const decided = Promise.withResolvers<void>();
    await using admin = await listenAdmin(home.admin, (request) => {
      if (request.kind === "approval") return askBlock();
      decided.resolve();
      return { kind: "ok", body: {} };
    });
    await using _loop = await listenLoop(home.loop, async (_turn, connection) => {
      sendEvent(connection, { event: "thinking_capped" });
      turn.resolve(connection);
      await decided.promise;
      sendDone(connection, "very well");
    });
    await using terminal = new Terminal(home.path, ["chat", "--session", "a", "--home", home.path], env);
    await terminal.shows(/^>$/mu);
    terminal.keys("count", "Enter");
    await terminal.shows(/thinking was cut short/u);
    const connection = await turn.promise;
    const before = terminal.bytesRead();
    terminal.keys("41", "Enter", "4");
    // No event says that a program has read its input.
    while (terminal.bytesRead() < before + arriving) await delay(5);
    sendAsk(connection);
    const rows = await terminal.shows(/^type 41 to approve shell, anything else refuses:$/mu);
    assert.ok(rows.includes("what was typed before this question is not taken as its answer"));
    assert.ok(!admin.requests.some(({ kind }) => kind !== "approval"));
    terminal.keys("1", "Enter");
    await terminal.shows(/│ very well\n>$/u);
    assert.deepEqual(admin.requests.at(-1), { kind: "refuse", body: { approval: 41, reason: null } });
  });
}

test("Ctrl-C cancels a turn and takes its question back; at the prompt a second one leaves", { skip }, async () => {
  await using home = await tempHome();
  const turn = Promise.withResolvers<LoopConnection>();
  await using admin = await listenAdmin(home.admin, () => askBlock());
  await using loop = await listenLoop(
    home.loop,
    (_turn, connection) => {
      sendAsk(connection);
      turn.resolve(connection);
    },
    () => void turn.promise.then((connection) => connection.send({ kind: "error", body: { code: "cancelled", detail: "" } }, true)),
  );
  await using terminal = new Terminal(home.path, ["chat", "--session", "a", "--home", home.path]);
  await terminal.shows(/^>$/mu);
  terminal.keys("count", "Enter");
  await terminal.shows(/^type 41 to approve/mu);
  terminal.keys("C-c");
  await terminal.shows(/^turn cancelled\n>$/mu);
  assert.ok(loop.requests.some(({ kind }) => kind === "cancel"));
  assert.ok(!admin.requests.some(({ kind }) => kind !== "approval"));
  terminal.keys("half a li", "C-c");
  await terminal.shows(/^Ctrl-C again leaves; \/help lists the commands\n>$/mu);
  terminal.keys("C-c");
  await terminal.shows(/^ended 0 icanon$/mu);
});

test("what is typed while a turn runs waits for the next prompt, and can be called back later", { skip }, async () => {
  await using home = await tempHome();
  const turns: LoopConnection[] = [];
  await using loop = await listenLoop(home.loop, (turn, connection) => {
    turns.push(connection);
    if (turn.text === "first") sendEvent(connection, { event: "thinking_capped" });
    else sendDone(connection, `answer to ${turn.text}`);
  });
  await using terminal = new Terminal(home.path, ["chat", "--session", "a", "--home", home.path]);
  await terminal.shows(/^>$/mu);
  terminal.keys("first", "Enter");
  await terminal.shows(/thinking was cut short/u);
  const before = terminal.bytesRead();
  terminal.keys("second", "Enter", "thi");
  while (terminal.bytesRead() < before + 10) await delay(5);
  assert.ok(!terminal.rows().some((row) => row.includes("second")));
  sendDone(turns[0] as LoopConnection, "answer to first");
  await terminal.shows(/│ answer to second\n> thi$/u);
  terminal.keys("rd", "Enter");
  await terminal.shows(/│ answer to third\n>$/u);
  terminal.keys("Up", "Up", "Enter");
  await terminal.shows(/│ answer to third\n> second\n│ answer to second\n>$/u);
  assert.deepEqual(
    loop.requests.flatMap((request) => (request.kind === "turn" ? [request.body.text] : [])),
    ["first", "second", "third", "second"],
  );
  terminal.keys("C-d");
  await terminal.shows(/^ended 0 icanon$/mu);
});

test("colour is for terminals that want it", { skip }, async () => {
  for (const [env, coloured] of [
    [{}, true],
    [{ NO_COLOR: "1" }, false],
    [{ TERM: "dumb" }, false],
  ] as const) {
    await using home = await tempHome();
    await using _loop = await listenLoop(home.loop, (_turn, connection) => {
      sendEvent(connection, { event: "reasoning", text: "hm" });
      sendDone(connection, "yes");
    });
    await using terminal = new Terminal(home.path, ["chat", "--session", "a", "--home", home.path], env);
    await terminal.shows(/^>/mu);
    terminal.keys("count", "Enter");
    await terminal.shows(/┊ hm\n│ yes\n>/u);
    // tmux writes the escape character as \033.
    assert.equal(terminal.output.includes("\\033[2m"), coloured);
    terminal.keys("/quit", "Enter");
    await terminal.shows(/^ended 0 icanon$/mu);
  }
});
