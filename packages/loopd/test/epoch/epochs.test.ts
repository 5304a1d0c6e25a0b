/** Epochs: made by themselves before the context is full, or when the owner asks; nothing is lost, and the new prefix stays as it is. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { type Exchange, type RecordedRequest, refuse, reply } from "@boxmaker/demo-model";
import { codeOf, contentOf, namesOf, textOf, told } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { isSummaryRequest, longText, systemOf } from "../support/summaries.ts";
import { TestLoop, type TestLoopOptions } from "../support/test-loop.ts";

const CONTEXT = 4_000;
const read = (path: string) => ({ calls: [{ name: "read_file", arguments: JSON.stringify({ path }) }] });

/** A loop whose model writes `summaries` in turn when it is asked for one (the last one again and again), and else what `answer` says. */
async function start(
  summaries: readonly Exchange[],
  answer: (index: number, request: RecordedRequest) => Exchange = (index) => reply({ content: `answer ${index}` }),
  options: Partial<TestLoopOptions> & { readonly context?: number } = {},
): Promise<TestLoop> {
  let [asked, answered] = [0, 0];
  const { context = CONTEXT, ...rest } = options;
  return await TestLoop.start({
    model: {
      contextTokens: context,
      script: (request) => {
        if (!isSummaryRequest(request)) return answer(answered++, request);
        return summaries[Math.min(asked++, summaries.length - 1)] ?? refuse(500, "unforeseen", "server_error");
      },
    },
    ...rest,
  });
}

function files(loop: TestLoop): Promise<readonly string[]> {
  return readdir(loop.home.at("sessions/s1"));
}

test("a conversation that nears the context is summed up by the model, and the turn goes on in the next epoch", async () => {
  await using loop = await start([reply({ content: "  They said words.\n" })]);
  await loop.client.turn("s1", longText(900, "one"));
  await loop.client.turn("s1", longText(900, "two"), { resume: true });
  const third = await loop.client.turn("s1", longText(900, "three"), { resume: true });
  assert.equal(contentOf(third), "answer 2");
  assert.deepEqual(namesOf(third), ["epoch"]);
  assert.equal(textOf(third), "answer 2");
  assert.deepEqual(
    third.events.find(({ event }) => event === "epoch"),
    { event: "epoch", number: 1 },
  );

  const old = await loop.records("s1");
  const end = old.at(-1);
  assert.ok(end?.kind === "epoch_end");
  assert.deepEqual([end.carry, end.shortened, end.summary], ["turn", null, "They said words."]);
  assert.ok(third.end.kind === "turn_done" && third.end.body.usage.prompt > end.usage.prompt);
  const fresh = await loop.records("s1", 1);
  assert.deepEqual(
    fresh.map(({ kind }) => kind),
    ["session_start", "user", "assistant", "usage"],
  );
  assert.deepEqual((await files(loop)).toSorted(), ["0.baseline.json", "0.jsonl", "1.baseline.json", "1.jsonl"]);

  const [, , summary, after] = loop.model.requests;
  assert.match(systemOf(after), /\n\nSummary of this conversation so far[^\n]*\n\nThey said words\.$/u);
  assert.equal(after?.chat.messages.length, 2);
  // The question stands behind what the server has in its cache, with the same tools before it.
  const before = loop.model.requests[1]?.body.toString() ?? "";
  assert.ok(summary?.body.toString().startsWith(before.slice(0, -"]}".length)));
  assert.deepEqual(loop.model.violations, []);

  // The new prefix stays as it is, after a restart, too.
  await loop.restart();
  const fourth = await loop.client.turn("s1", "four", { resume: true });
  assert.deepEqual(namesOf(fourth), []);
  assert.ok(
    loop.model.requests
      .at(-1)
      ?.body.toString()
      .startsWith(after?.body.toString().slice(0, -"]}".length) ?? "?"),
  );
});

test("a request that the server refuses as too long is made to fit in the middle of a turn, results and call ids kept", async () => {
  const answer = (_index: number, { chat }: RecordedRequest): Exchange => {
    const results = chat.messages.filter(({ role }) => role === "tool").length;
    if (told(chat.messages.at(-1)).startsWith("hi")) return reply({ content: "hello" });
    return [reply(read("/a")), reply(read("/b"))][results] ?? reply({ content: "done" });
  };
  await using loop = await start([reply({ content: "We greeted." })], answer, {
    context: 4_400,
    broker: async ({ call }, send) => {
      await send(result(longText(1_700, `w${call}`), { class: "private" }), true);
    },
    toml: "[limits]\ncontext_reserve = 0\n[infer]\npoll_ms = 20\n",
  });
  await loop.client.turn("s1", longText(900, "hi"));
  const turn = await loop.client.turn("s1", "read both", { resume: true });
  assert.equal(contentOf(turn), "done");
  assert.equal(namesOf(turn).filter((name) => name === "epoch").length, 1);
  assert.equal(namesOf(turn).filter((name) => name === "taint").length, 1);
  const fresh = await loop.records("s1", 1);
  assert.deepEqual(
    fresh.map(({ kind }) => kind),
    [
      "session_start",
      "user",
      "assistant",
      "call_sent",
      "tool_result",
      "assistant",
      "call_sent",
      "tool_result",
      "assistant",
      "usage",
    ],
  );
  const last = loop.model.requests.at(-1);
  assert.deepEqual(
    last?.chat.messages.map(({ role }) => role),
    ["system", "user", "assistant", "tool", "assistant", "tool"],
  );
  // What the session has seen isn't said to be new, and its calls go on behind the old ones.
  await loop.restart();
  assert.deepEqual(
    loop.broker.requests.map(({ call }) => call),
    [1, 2],
  );
});

test("what a session has seen and its call ids go on across epochs and restarts", async () => {
  const replies = [reply(read("/a")), reply({ content: "one" }), reply(read("/b")), reply({ content: "two" })];
  await using loop = await start([reply({ content: "Read a." })], (index) => replies[index] ?? reply({ content: "later" }), {
    broker: async (_request, send) => {
      await send(result("text", { class: "private", untrusted: true }), true);
    },
  });
  assert.ok(namesOf(await loop.client.turn("s1", "go")).includes("taint"));
  assert.deepEqual((await loop.client.compact("s1")).end, { kind: "ok", body: {} });
  await loop.restart();
  const second = await loop.client.turn("s1", "again", { resume: true });
  assert.ok(!namesOf(second).includes("taint"));
  assert.deepEqual(
    loop.broker.requests.map(({ call, turn }) => [call, turn]),
    [
      [1, 1],
      [2, 2],
    ],
  );
});

test("a turn that alone is too long is summed up but for its message, and session_full comes only when that doesn't fit either", async () => {
  const answer = (_index: number, request: RecordedRequest): Exchange => {
    const results = request.chat.messages.filter(({ role }) => role === "tool").length;
    if (systemOf(request).endsWith("Read a and b.")) return reply({ content: "done" });
    return [reply(read("/a")), reply(read("/b")), reply(read("/c"))][results] ?? reply({ content: "unforeseen" });
  };
  await using loop = await start([reply({ content: "Read a and b." })], answer, {
    broker: async ({ call }, send) => {
      await send(result(longText(1_300, `w${call}`)), true);
    },
    toml: "[limits]\ncontext_reserve = 0\n[infer]\npoll_ms = 20\n",
  });
  assert.equal(contentOf(await loop.client.turn("s1", "read all")), "done");
  const end = (await loop.records("s1")).at(-1);
  assert.ok(end?.kind === "epoch_end");
  assert.equal(end.carry, "message");
  assert.notEqual(end.shortened, null);
  assert.deepEqual(
    (await loop.records("s1", 1)).slice(0, 2).map(({ kind }) => kind),
    ["session_start", "user"],
  );

  const full = await loop.client.turn("s1", longText(5_000), { resume: true });
  assert.equal(codeOf(full), "session_full");
  assert.match(full.end.kind === "error" ? full.end.body.detail : "", /see docs\/runbook\.md#session-full$/u);
  // The session isn't lost: a shorter message goes on.
  assert.equal(contentOf(await loop.client.turn("s1", "short", { resume: true })), "done");
});

const BAD_SUMMARIES: readonly (readonly [string, Exchange])[] = [
  ["is empty", reply({ content: " \n" })],
  ["calls a tool", reply({ content: "I'll look", ...read("/a") })],
  ["is cut", reply({ content: "They said", finish: "length" })],
];

for (const [what, bad] of BAD_SUMMARIES) {
  test(`a summary that ${what} is asked for again with less to read, without tools`, async () => {
    await using loop = await start([bad, reply({ content: "They said words." })]);
    await loop.client.turn("s1", longText(2_000));
    assert.deepEqual((await loop.client.compact("s1")).end, { kind: "ok", body: {} });
    const end = (await loop.records("s1")).at(-1);
    assert.deepEqual(end?.kind === "epoch_end" && [end.shortened, end.summary], [1_024, "They said words."]);
    const [, first, second] = loop.model.requests;
    assert.notEqual(first?.chat.tools, undefined);
    assert.equal(second?.chat.tools, undefined);
    assert.match(told(second?.chat.messages[1]), /\[cut: the first part of 9999 bytes\]$/u);
  });

  test(`a summary that ${what} three times changes nothing, and a conversation that fits goes on without`, async () => {
    await using loop = await start([bad]);
    await loop.client.turn("s1", "hello");
    const before = await readFile(loop.home.at("sessions/s1/0.jsonl"), "utf8");
    const refused = await loop.client.compact("s1");
    assert.equal(codeOf(refused), "inference");
    assert.match(refused.end.kind === "error" ? refused.end.body.detail : "", /see docs\/runbook\.md#summary-failed$/u);
    assert.equal(loop.model.requests.length, 4);
    assert.equal(await readFile(loop.home.at("sessions/s1/0.jsonl"), "utf8"), before);
    assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "answer 1");
  });
}

test("a failed summary isn't asked for again in the same turn: what still fits is sent, what doesn't fails with one line", async () => {
  await using loop = await start([reply({ content: "" })]);
  await loop.client.turn("s1", longText(1_150));
  await loop.client.turn("s1", longText(1_150), { resume: true });
  const near = await loop.client.turn("s1", longText(200), { resume: true });
  assert.equal(contentOf(near), "answer 2");
  assert.equal(loop.model.requests.length, 2 + 3 + 1);
  assert.ok(loop.log.some((line) => line.includes("no-summary")));
  const over = await loop.client.turn("s1", longText(2_000), { resume: true });
  assert.equal(codeOf(over), "inference");
  // What doesn't fit is counted and never sent.
  assert.equal(loop.model.requests.length, 2 + 3 + 1 + 3);
});

test("a server that fails during the summary ends it at once, and nothing is lost", async () => {
  await using loop = await start([refuse(500, "out of order", "server_error"), reply({ content: "They met." })]);
  await loop.client.turn("s1", "hello");
  assert.equal(codeOf(await loop.client.compact("s1")), "inference");
  assert.equal(loop.model.requests.length, 2);
  assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "answer 1");
});

test("a summary longer than its limit is cut at a character's boundary, saying so", async () => {
  await using loop = await start([reply({ content: "ä".repeat(2_000) })], undefined, { toml: "[limits]\nsummary_bytes = 501\n" });
  await loop.client.turn("s1", "hello");
  assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  const end = (await loop.records("s1")).at(-1);
  assert.match(end?.kind === "epoch_end" ? end.summary : "", /^ä+\n\[cut: the first part of 4000 bytes\]$/u);
});

test("a summary gets no more bytes than half the context has tokens, so that none fills it for ever", async () => {
  await using loop = await start([reply({ content: "x ".repeat(8_000) })]);
  await loop.client.turn("s1", "hello");
  assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  const end = (await loop.records("s1")).at(-1);
  assert.match(end?.kind === "epoch_end" ? end.summary : "", /^(?:x )+x?\n\[cut: the first part of 15999 bytes\]$/u);
  assert.equal(end?.kind === "epoch_end" && Buffer.byteLength(end.summary) <= CONTEXT / 2, true);
  assert.equal(contentOf(await loop.client.turn("s1", "go on", { resume: true })), "answer 1");
});

test("compact says where there is nothing to sum up, refuses a session that isn't there, and is cancelled like a turn", async () => {
  const gate = Promise.withResolvers<void>();
  await using loop = await start([
    {
      kind: "stream",
      steps: [{ kind: "start" }, { kind: "wait", gate: gate.promise }],
      cutAt: null,
      split: "none",
      holdSlot: null,
    },
    reply({ content: "They met." }),
  ]);
  assert.equal(codeOf(await loop.client.compact("s1")), "no_such_session");
  await loop.client.turn("s1", "hello");
  const running = loop.client.compact("s1");
  await loop.model.received(2);
  assert.equal(codeOf(await loop.client.turn("s1", "meanwhile", { resume: true })), "session_busy");
  assert.equal(codeOf(await loop.gateway.compact("s1")), "session_busy");
  await loop.client.ask("cancel", { session: "s1" });
  assert.equal(codeOf(await running), "cancelled");
  gate.resolve();
  assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  assert.equal(codeOf(await loop.client.compact("s1")), "no_such_turn");
  assert.equal(codeOf(await loop.gateway.compact("s1")), "no_such_session");
  const list = await loop.client.ask("sessions", {});
  assert.deepEqual(list.kind === "session_list" && list.body.sessions.map(({ turns, busy }) => [turns, busy]), [[1, false]]);
});

test("the core memory is read once per epoch", async () => {
  await using loop = await start([reply({ content: "They met." })]);
  const memory = loop.home.at("memory/core.md");
  await writeFile(memory, "I like tea.\n");
  await loop.client.turn("s1", "hello");
  await writeFile(memory, "I like coffee.\n");
  await loop.client.turn("s1", "and now", { resume: true });
  await loop.client.compact("s1");
  await loop.client.turn("s1", "and then", { resume: true });
  const systems = loop.model.requests.map(systemOf);
  assert.deepEqual(
    systems.map((system) => [system.includes("tea"), system.includes("coffee")]),
    [
      [true, false],
      [true, false],
      [true, false],
      [false, true],
    ],
  );
  assert.ok((systems[3]?.indexOf("coffee") ?? 0) < (systems[3]?.indexOf("They met.") ?? 0));
});

test("a session that began without a core memory goes on without, since brokerd hasn't counted it for what the session has seen", async () => {
  await using loop = await start([reply({ content: "They met." })]);
  await loop.client.turn("s1", "hello");
  await writeFile(loop.home.at("memory/core.md"), "My bank is the one at the corner.\n");
  await loop.client.compact("s1");
  await loop.restart();
  await loop.client.turn("s1", "go on", { resume: true });
  assert.doesNotMatch(systemOf(loop.model.requests.at(-1)), /My bank/u);
  await loop.client.compact("s1");
  await loop.client.turn("s1", "and on", { resume: true });
  assert.doesNotMatch(systemOf(loop.model.requests.at(-1)), /My bank/u);
  await loop.client.turn("s2", "hello");
  assert.match(systemOf(loop.model.requests.at(-1)), /\n\nMy bank is the one at the corner\.$/u);
});

test("a core memory that can't be read when an epoch begins fails the turn; the summary is kept, and the epoch begins when it can", async () => {
  await using loop = await start([reply({ content: "They met." })]);
  const memory = loop.home.at("memory/core.md");
  await writeFile(memory, "I like tea.\n");
  await loop.client.turn("s1", "hello");
  await rm(memory);
  await mkdir(memory);
  const refused = await loop.client.compact("s1");
  assert.match(
    refused.end.kind === "error" ? refused.end.body.detail : "",
    /EISDIR; see docs\/runbook\.md#core-memory-unreadable$/u,
  );
  assert.equal(codeOf(await loop.client.turn("s1", "go on", { resume: true })), "internal");
  await loop.restart();
  await rm(memory, { recursive: true });
  const turn = await loop.client.turn("s1", "go on", { resume: true });
  assert.equal(contentOf(turn), "answer 1");
  assert.deepEqual(namesOf(turn), ["epoch"]);
  assert.match(systemOf(loop.model.requests.at(-1)), /They met\.$/u);
  assert.equal(loop.model.requests.filter(isSummaryRequest).length, 1);
});
