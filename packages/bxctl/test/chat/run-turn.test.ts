import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, LoopAnswer, LoopRequest, SessionId, type TurnEvent } from "@boxmaker/proto";
import { Conversation, newSessionId } from "../../src/chat/conversation.ts";
import { runCompact, runTurn } from "../../src/chat/run-turn.ts";
import { type LoopConnection, listenLoop, ScriptedServer, sendDone, sendEvent, USAGE } from "../support/scripted-server.ts";
import { tempHome } from "../support/temp-home.ts";
import { leapingClock, standingClock } from "../support/test-clocks.ts";

const REQUEST = { session: SessionId.parse("a"), resume: false, text: "hi" };
const NEVER = new AbortController().signal;

function options(socket: string, events: TurnEvent[] = []) {
  const onEvent = (event: TurnEvent): Promise<void> => {
    events.push(event);
    return Promise.resolve();
  };
  return { socket, clock: standingClock(), onEvent, signal: NEVER };
}

test("events come in order, then the end", async () => {
  await using home = await tempHome();
  await using _loop = await listenLoop(home.loop, (_turn, connection) => {
    for (const text of ["a", "b", "c"]) sendEvent(connection, { event: "text", text });
    sendDone(connection, "abc");
  });
  const events: TurnEvent[] = [];
  assert.deepEqual(await runTurn(REQUEST, options(home.loop, events)), { kind: "done", content: "abc", usage: USAGE });
  assert.deepEqual(
    events.map((event) => (event.event === "text" ? event.text : "")),
    ["a", "b", "c"],
  );
});

test("a loopd that says nothing for too long is given up, and it is said that it may have acted", async () => {
  await using home = await tempHome();
  await using _loop = await listenLoop(home.loop, () => undefined);
  const end = await runTurn(REQUEST, { ...options(home.loop), clock: leapingClock() });
  assert.ok(end.kind === "lost");
  assert.match(
    end.problem,
    /^loopd (didn't answer in time on socket ".*"(; whether it acted is unknown)?); see docs\/runbook\.md#loopd-away$/u,
  );
});

for (const [title, misbehave] of [
  ["bytes that are no message", (connection: LoopConnection) => connection.bytes(Buffer.from([0, 0, 0, 1, 0x1b]))],
  ["a frame larger than any", (connection: LoopConnection) => connection.bytes(Buffer.from([0xff, 0, 0, 1]))],
  ["an answer to something else", (connection: LoopConnection) => connection.send({ kind: "ok", body: {} }, true)],
  [
    "an event as its last word",
    (connection: LoopConnection) => connection.send({ kind: "turn_event", body: { event: "thinking_capped" } }, true),
  ],
] as const) {
  test(`${title} from loopd is one printable line with a pointer`, async () => {
    await using home = await tempHome();
    await using _loop = await listenLoop(home.loop, (_turn, connection) => misbehave(connection));
    const end = await runTurn(REQUEST, options(home.loop));
    assert.ok(end.kind === "lost");
    assert.match(end.problem, /^loopd [^\n\p{C}]*; see docs\/runbook\.md#peer-unreadable$/u);
  });
}

test("runCompact() passes the events on and ends with loopd's word, its error, or one line about another answer", async () => {
  await using home = await tempHome();
  const answers: LoopAnswer[] = [
    { kind: "ok", body: {} },
    { kind: "error", body: { code: "inference", detail: "no summary\u001b" } },
    { kind: "turn_done", body: { content: "", usage: USAGE } },
  ];
  await using loop = await ScriptedServer.listen(home.loop, LoopRequest, LoopAnswer, (_request, connection) => {
    connection.send({ kind: "turn_event", body: { event: "epoch", number: 1 } }, false);
    const answer = answers.shift();
    if (answer !== undefined) connection.send(answer, true);
  });
  const events: TurnEvent[] = [];
  assert.deepEqual(await runCompact(REQUEST.session, options(home.loop, events)), { kind: "ok" });
  assert.deepEqual(events, [{ event: "epoch", number: 1 }]);
  assert.deepEqual(loop.requests, [{ kind: "compact", body: { session: "a" } }]);
  assert.deepEqual(await runCompact(REQUEST.session, options(home.loop)), {
    kind: "refused",
    code: "inference",
    detail: "no summary\\u001b",
  });
  const lost = await runCompact(REQUEST.session, options(home.loop));
  assert.match(
    lost.kind === "lost" ? lost.problem : "",
    /^loopd answered turn_done where ok was due; see docs\/runbook\.md#peer-unreadable$/u,
  );
});

test("leaving ends the wait at once", async () => {
  await using home = await tempHome();
  const leave = new AbortController();
  await using _loop = await listenLoop(home.loop, () => leave.abort());
  assert.deepEqual(await runTurn(REQUEST, { ...options(home.loop), signal: leave.signal }), { kind: "left" });
});

async function resumesAfter(code: ErrorCode, conversation: Conversation): Promise<readonly boolean[]> {
  await using home = await tempHome();
  const resumes: boolean[] = [];
  await using _loop = await listenLoop(home.loop, (turn, connection) => {
    resumes.push(turn.resume);
    connection.send({ kind: "error", body: { code, detail: "" } }, true);
  });
  for (let turn = 0; turn < 2; turn++) await conversation.say("hi", options(home.loop));
  return resumes;
}

test("a new session whose first turn failed is resumed, or started if that didn't happen", async () => {
  assert.deepEqual(await resumesAfter("inference", Conversation.start(0)), [false, true]);
  assert.deepEqual(await resumesAfter("no_such_session", Conversation.start(0)), [false, true, false]);
});

test("a session of somebody else's that has our new id is never resumed", async () => {
  assert.deepEqual(await resumesAfter("session_exists", Conversation.start(0)), [false, false]);
});

test("a session that is gone isn't started again in the middle of a chat", async () => {
  await using home = await tempHome();
  const conversation = Conversation.named(SessionId.parse("a"));
  const resumes: boolean[] = [];
  await using _loop = await listenLoop(home.loop, (turn, connection) => {
    resumes.push(turn.resume);
    if (resumes.length === 1) sendDone(connection, "hello");
    else connection.send({ kind: "error", body: { code: "no_such_session", detail: "" } }, true);
  });
  await conversation.say("hi", options(home.loop));
  const end = await conversation.say("hi again", options(home.loop));
  assert.equal(end.kind, "refused");
  assert.deepEqual(resumes, [true, true]);
});

test("new ids say when, and differ", () => {
  const now = Date.UTC(2026, 8, 18, 15, 30, 12, 5);
  assert.match(newSessionId(now), /^chat-20260918-153012-[0-9a-f]{8}$/u);
  assert.notEqual(newSessionId(now), newSessionId(now));
});
