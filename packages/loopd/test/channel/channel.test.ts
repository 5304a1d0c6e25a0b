import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { reply, replySteps, stream } from "@boxmaker/demo-model";
import { AnyRequest, decodeMessage, encodeMessage, FrameDecoder, LoopAnswer } from "@boxmaker/proto";
import { codeOf, contentOf, told } from "../support/loop-client.ts";
import { TestLoop } from "../support/test-loop.ts";

const ok = reply({ content: "ok" });

function held(gate: Promise<unknown>) {
  const steps = replySteps({ content: "one two" });
  return stream([...steps.slice(0, 2), { kind: "wait", gate }, ...steps.slice(2)]);
}

test("a second turn on a session is session_busy at once, another session isn't", async () => {
  const gate = Promise.withResolvers<void>();
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index === 0 ? held(gate.promise) : ok), slots: 2 },
    toml: "[slots]\nterminal = [0, 1]\n",
  });
  const first = loop.client.turn("s1", "go");
  await loop.model.received(1);
  assert.equal(codeOf(await loop.client.turn("s1", "go", { resume: true })), "session_busy");
  assert.equal(contentOf(await loop.client.turn("s2", "go")), "ok");
  const list = await loop.client.ask("sessions", {});
  assert.deepEqual(
    list.kind === "session_list" && list.body.sessions.map(({ session, turns, busy }) => `${session} ${turns} ${busy}`).sort(),
    ["s1 1 true", "s2 1 false"],
  );
  gate.resolve();
  assert.equal(contentOf(await first), "one two");
});

test("a session is never busy when its final frame arrives, whether the turn was answered or failed", async () => {
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index % 2 === 0 ? ok : stream([{ kind: "event", data: { error: "x" } }])) },
  });
  await loop.client.turn("s1", "go");
  for (let turn = 1; turn < 30; turn++) {
    const report = await loop.client.turn("s1", "go", { resume: true });
    if (turn % 2 === 0) assert.equal(contentOf(report), "ok");
    else assert.equal(codeOf(report), "inference");
  }
  for (let turn = 0; turn < 10; turn++) {
    assert.equal(codeOf(await loop.client.turn("new", "go", { resume: true })), "no_such_session");
    assert.equal(codeOf(await loop.client.turn("s1", "go")), "session_exists");
  }
});

test("a session is never busy when the final frame of its summing up arrives, whether there is a summary or not", async () => {
  await using loop = await TestLoop.start({
    model: { script: ({ index }) => reply({ content: index % 6 === 2 ? "They met." : index % 6 === 0 ? "hi" : "" }) },
  });
  for (let round = 0; round < 5; round++) {
    await loop.client.turn("s1", "hello", { resume: round > 0 });
    await loop.client.compact("s1");
    await loop.client.compact("s1");
    const turn = await loop.client.turn("s1", "and on", { resume: true });
    assert.notEqual(turn.end.kind === "error" && turn.end.body.code, "session_busy");
  }
});

test("a client that goes away while a conversation is summed up doesn't end that", async () => {
  const gate = Promise.withResolvers<void>();
  await using loop = await TestLoop.start({ model: { script: ({ index }) => (index === 1 ? held(gate.promise) : ok) } });
  await loop.client.turn("s1", "hello");
  const leave = new AbortController();
  const left = loop.client.compact("s1", { signal: leave.signal }).catch((error: unknown) => error);
  await loop.model.received(2);
  leave.abort();
  await left;
  gate.resolve();
  let end = (await loop.client.compact("s1")).end;
  while (end.kind === "error" && end.body.code === "session_busy") end = (await loop.client.compact("s1")).end;
  assert.equal((await loop.records("s1")).at(-1)?.kind, "epoch_end");
});

test("a client that goes away doesn't stop the turn", async () => {
  const gate = Promise.withResolvers<void>();
  await using loop = await TestLoop.start({ model: { script: (request) => (request.index === 0 ? held(gate.promise) : ok) } });
  const leave = new AbortController();
  const left = loop.client.turn("s1", "go", { signal: leave.signal, onEvent: ({ event }) => event === "text" && leave.abort() });
  await assert.rejects(left);
  gate.resolve();
  assert.equal(await (await loop.model.received(1)).ended, "answered");
  // The turn's end isn't announced to anybody; the session is free when it has come.
  for (;;) {
    const report = await loop.client.turn("s1", "go on", { resume: true });
    if (report.end.kind === "turn_done") break;
    assert.equal(codeOf(report), "session_busy");
  }
  const answers = (await loop.records("s1")).flatMap((record) => (record.kind === "assistant" ? [record.content] : []));
  assert.deepEqual(answers, ["one two", "ok"]);
});

test("a client that doesn't read holds up neither its own turn nor anybody else", async () => {
  const text = "many words here ".repeat(6_000);
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index === 0 ? reply({ content: text }) : ok) },
  });
  const socket = connect(loop.home.at("run/loop/loop.sock"));
  await once(socket, "connect");
  socket.pause();
  const message = AnyRequest.parse({ kind: "turn", body: { session: "s1", resume: false, text: "go" } });
  socket.write(encodeMessage(AnyRequest, { id: 1, final: true, message }));
  assert.equal(await (await loop.model.received(1)).ended, "answered");
  assert.equal(contentOf(await loop.client.turn("s2", "go")), "ok");
  // It reads at last, and gets everything in order.
  const decoder = new FrameDecoder();
  let streamed = "";
  let final: LoopAnswer | undefined;
  for await (const chunk of socket) {
    decoder.push(chunk as Buffer);
    for (let step = decoder.next(); step.kind === "frame"; step = decoder.next()) {
      const decoded = decodeMessage(LoopAnswer, step.body);
      assert.equal(decoded.kind, "message");
      if (decoded.kind !== "message") continue;
      const { message: answer } = decoded.envelope;
      if (decoded.envelope.final) final = answer;
      else if (answer.kind === "turn_event" && answer.body.event === "text") streamed += answer.body.text;
    }
  }
  assert.equal(streamed, text);
  assert.equal(final?.kind === "turn_done" && final.body.content, text);
});

test("the gateway sees its own sessions only, the terminal sees all", async () => {
  await using loop = await TestLoop.start({ model: { script: () => ok } });
  await loop.client.turn("mine", "go");
  await loop.gateway.turn("theirs", "go");
  const names = (answer: LoopAnswer) =>
    answer.kind === "session_list" ? answer.body.sessions.map(({ session }) => session).sort() : [];
  assert.deepEqual(names(await loop.gateway.ask("sessions", {})), ["theirs"]);
  assert.deepEqual(names(await loop.client.ask("sessions", {})), ["mine", "theirs"]);
  assert.equal(codeOf(await loop.gateway.turn("mine", "go", { resume: true })), "no_such_session");
  const cancelled = await loop.gateway.ask("cancel", { session: "mine" });
  assert.equal(cancelled.kind === "error" && cancelled.body.code, "no_such_session");
  assert.equal(contentOf(await loop.client.turn("theirs", "go", { resume: true })), "ok");
});

/** Sends one frame and returns the answers' messages and ids. */
async function exchange(path: string, bytes: Buffer): Promise<readonly (readonly [id: number, answer: LoopAnswer])[]> {
  const socket = connect(path);
  socket.write(bytes);
  const decoder = new FrameDecoder();
  const answers: (readonly [number, LoopAnswer])[] = [];
  for await (const chunk of socket) {
    decoder.push(chunk as Buffer);
    for (let step = decoder.next(); step.kind === "frame"; step = decoder.next()) {
      const decoded = decodeMessage(LoopAnswer, step.body);
      if (decoded.kind === "message") answers.push([decoded.envelope.id, decoded.envelope.message]);
    }
  }
  return answers;
}

test("a kind of another socket is forbidden and logged, what can't be read is refused with id 0", async () => {
  await using loop = await TestLoop.start({ model: { script: [] } });
  const path = loop.home.at("run/loop/loop.sock");
  const status = AnyRequest.parse({ kind: "status", body: {} });
  const [forbidden] = await exchange(path, encodeMessage(AnyRequest, { id: 5, final: true, message: status }));
  assert.deepEqual(forbidden?.[0], 5);
  assert.equal(forbidden?.[1].kind === "error" && forbidden[1].body.code, "forbidden");
  assert.ok(loop.log.some((line) => line.includes("request-forbidden") && line.includes("kind=status")));
  const [unreadable] = await exchange(path, Buffer.from([0, 0, 0, 2, 0x7b, 0x5d]));
  assert.deepEqual(unreadable?.[0], 0);
  assert.equal(unreadable?.[1].kind === "error" && unreadable[1].body.code, "bad_frame");
});

test("a message that is empty or longer than the limit is refused, and no session is made", async () => {
  await using loop = await TestLoop.start({ model: { script: [] }, toml: "[limits]\nmessage_bytes = 10\n" });
  assert.equal(codeOf(await loop.client.turn("s1", " \n")), "bad_message");
  assert.equal(codeOf(await loop.client.turn("s1", "ääääää")), "limit");
  const list = await loop.client.ask("sessions", {});
  assert.deepEqual(list, { kind: "session_list", body: { sessions: [] } });
});

test("turns over the limit are busy, and connections over theirs are refused", async () => {
  const gate = Promise.withResolvers<void>();
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index === 0 ? held(gate.promise) : ok) },
    toml: "[loop]\nturns = 1\nconnections = 2\n",
  });
  const first = loop.client.turn("s1", "go");
  await loop.model.received(1);
  assert.equal(codeOf(await loop.client.turn("s2", "go")), "busy");
  const idle = connect(loop.home.at("run/loop/loop.sock"));
  await once(idle, "connect");
  const [refused] = await exchange(loop.home.at("run/loop/loop.sock"), Buffer.alloc(0));
  assert.equal(refused?.[1].kind === "error" && refused[1].body.code, "limit");
  idle.destroy();
  gate.resolve();
  await first;
});

test("twenty clients at once each get their own answer", async () => {
  await using loop = await TestLoop.start({
    model: { script: (request) => reply({ content: `answer to ${told(request.chat.messages.at(-1))}` }) },
  });
  const turns = Array.from({ length: 20 }, async (_, index) => contentOf(await loop.client.turn(`s${index}`, `question ${index}`)));
  assert.deepEqual(
    await Promise.all(turns),
    Array.from({ length: 20 }, (_, index) => `answer to question ${index}`),
  );
  assert.deepEqual(loop.model.violations, []);
});

test("a model that isn't there ends the turn with one line and a pointer, and the session goes on when it is back", async () => {
  await using loop = await TestLoop.start({ model: { script: () => ok }, toml: "[infer]\nretry_attempts = 1\n" });
  loop.model.setLoading(true);
  const turn = await loop.client.turn("s1", "go");
  assert.equal(codeOf(turn), "inference");
  assert.match(turn.end.kind === "error" ? turn.end.body.detail : "", /see docs\/runbook\.md#model-not-ready$/u);
  loop.model.setLoading(false);
  assert.equal(contentOf(await loop.client.turn("s1", "again", { resume: true })), "ok");
});

test("loopd without a broker says so once at start, and each call is a failure that the model is told", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply({ calls: [{ name: "shell", arguments: "{}" }] }), ok] },
  });
  assert.equal(loop.notices.length, 1);
  assert.match(loop.notices[0] ?? "", /see docs\/runbook\.md#no-broker$/u);
  const turn = await loop.client.turn("s1", "go");
  assert.equal(contentOf(turn), "ok");
  assert.match(told(loop.model.requests[1]?.chat.messages.at(-1)), /no tool broker is configured/u);
});

test("loopd that stops cancels its turns, and the next start goes on with their sessions", async () => {
  await using loop = await TestLoop.start({
    model: { script: (request) => (request.index === 0 ? held(new Promise(() => {})) : ok) },
  });
  const turn = loop.client.turn("s1", "go");
  await loop.model.received(1);
  await loop.restart();
  assert.equal(codeOf(await turn), "cancelled");
  assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "ok");
});
