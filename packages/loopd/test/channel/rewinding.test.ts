/** Rewinding: the new session begins with exactly the same requests, and the old one goes on as if nothing had been. */
import assert from "node:assert/strict";
import { appendFile, readFile } from "node:fs/promises";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import type { LoopAnswer } from "@boxmaker/proto";
import { codeOf, contentOf } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { isSummaryRequest, systemOf } from "../support/summaries.ts";
import { TestLoop, type TestLoopOptions } from "../support/test-loop.ts";

const CALL = { calls: [{ name: "read_file", arguments: '{"path": "/n/a"}' }] };

function errorOf(answer: LoopAnswer): string {
  return answer.kind === "error" ? answer.body.code : answer.kind;
}

/** A loop whose model calls a tool in its second and third turn. */
async function threeTurns(options: Partial<TestLoopOptions> = {}): Promise<TestLoop> {
  const script = [
    reply({ content: "one", reasoning: "hm" }),
    reply(CALL),
    reply({ content: "two" }),
    reply(CALL),
    reply({ content: "three" }),
    reply({ content: "four" }),
    reply({ content: "other four" }),
  ];
  const loop = await TestLoop.start({
    model: { script },
    broker: async (_request, answer) => {
      await answer(result("text", { class: "private" }), true);
    },
    ...options,
  });
  await loop.client.turn("s1", "first");
  await loop.client.turn("s1", "second", { resume: true });
  await loop.client.turn("s1", "third", { resume: true });
  return loop;
}

function rewind(loop: TestLoop, turn: number, call: number, to = "s2"): Promise<LoopAnswer> {
  return loop.client.ask("rewind", { session: "s1", turn, call, to });
}

test("rewind_point says where the first turns end, and how many there are", async () => {
  await using loop = await threeTurns();
  for (const [turn, call] of [
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 2],
  ]) {
    assert.deepEqual(await loop.client.ask("rewind_point", { session: "s1", turn }), {
      kind: "rewind_point_report",
      body: { session: "s1", turn, turns: 3, call },
    });
  }
  assert.equal(errorOf(await loop.client.ask("rewind_point", { session: "s1", turn: 4 })), "no_such_turn");
  assert.equal(errorOf(await loop.client.ask("rewind_point", { session: "s9", turn: 0 })), "no_such_session");
});

test("a rewound session sends the model the bytes of the prefix, in the same slot, and its calls go on behind it", async () => {
  await using loop = await threeTurns();
  assert.deepEqual(await rewind(loop, 2, 1), { kind: "session_started", body: { session: "s2" } });
  const [before, after] = [await loop.records("s1"), await loop.records("s2")];
  const third = before.findLastIndex(({ kind }) => kind === "user");
  assert.deepEqual(after.slice(1), before.slice(1, third));
  const [one, other] = [before[0], after[0]];
  assert.ok(one?.kind === "session_start" && other?.kind === "session_start");
  assert.deepEqual([other.origin, other.slot, other.baseline, other.epoch], [one.origin, one.slot, one.baseline, 0]);
  assert.deepEqual(
    await readFile(loop.home.at("sessions/s2/0.baseline.json")),
    await readFile(loop.home.at("sessions/s1/0.baseline.json")),
  );

  await loop.client.turn("s2", "third", { resume: true });
  const requests = loop.model.requests.map(({ body }) => body.toString());
  // The same third message: so the same request as the third turn's first one was.
  assert.equal(requests.at(-1), requests[3]);
  assert.deepEqual(loop.model.violations, []);
});

test("the calls of a rewound session have numbers behind those of its prefix", async () => {
  await using loop = await TestLoop.start({
    model: { script: [reply(CALL), reply({ content: "a" }), reply(CALL), reply({ content: "b" })] },
    broker: async (_request, answer) => {
      await answer(result("text", { class: "private" }), true);
    },
  });
  await loop.client.turn("s1", "first");
  await rewind(loop, 1, 1);
  await loop.client.turn("s2", "second", { resume: true });
  assert.deepEqual(
    loop.broker.requests.map(({ session, call }) => [session, call]),
    [
      ["s1", 1],
      ["s2", 2],
    ],
  );
});

test("the old session goes on as if nothing had been, and loopd finds both after a restart", async () => {
  await using loop = await threeTurns();
  const before = await readFile(loop.home.at("sessions/s1/0.jsonl"));
  await rewind(loop, 1, 0);
  assert.deepEqual(await readFile(loop.home.at("sessions/s1/0.jsonl")), before);
  await loop.restart();
  assert.equal(contentOf(await loop.client.turn("s1", "fourth", { resume: true })), "four");
  assert.equal(contentOf(await loop.client.turn("s2", "second again", { resume: true })), "other four");
});

test("no turns at all is a new session with the same beginning", async () => {
  await using loop = await threeTurns();
  await rewind(loop, 0, 0);
  assert.equal((await loop.records("s2")).length, 1);
  await loop.client.turn("s2", "first", { resume: true });
  const requests = loop.model.requests.map(({ body }) => body.toString());
  assert.equal(requests.at(-1), requests[0]);
});

test("a rewinding to an id that is there, with another call than the last, or of a turn that isn't, makes nothing", async () => {
  await using loop = await threeTurns();
  assert.equal(errorOf(await rewind(loop, 2, 1, "s1")), "session_exists");
  assert.equal(errorOf(await rewind(loop, 2, 2)), "bad_message");
  assert.equal(errorOf(await rewind(loop, 2, 0)), "bad_message");
  assert.equal(errorOf(await rewind(loop, 4, 2)), "no_such_turn");
  assert.equal(codeOf(await loop.client.turn("s2", "hi", { resume: true })), "no_such_session");
});

test("a client of the gateway rewinds nothing", async () => {
  await using loop = await threeTurns();
  await loop.gateway.turn("g1", "hello");
  for (const [kind, body] of [
    ["rewind_point", { session: "g1", turn: 0 }],
    ["rewind", { session: "g1", turn: 0, call: 0, to: "g2" }],
  ] as const) {
    assert.equal(errorOf(await loop.gateway.ask(kind, body)), "forbidden");
  }
  // The owner's terminal sees all sessions; what it rewinds stays what it was.
  assert.equal((await loop.client.ask("rewind", { session: "g1", turn: 0, call: 0, to: "g2" })).kind, "session_started");
  const [start] = await loop.records("g2");
  assert.ok(start?.kind === "session_start");
  assert.equal(start.origin, "gateway");
});

test("while a turn runs the turns before it can be rewound to, and the running one can't", async () => {
  const gate = Promise.withResolvers<void>();
  await using loop = await TestLoop.start({
    model: { script: [reply({ content: "one" }), reply(CALL), reply({ content: "two" })] },
    broker: async (_request, answer) => {
      await gate.promise;
      await answer(result("text", { class: "private" }), true);
    },
  });
  await loop.client.turn("s1", "first");
  const called = Promise.withResolvers<void>();
  const second = loop.client.turn("s1", "second", {
    resume: true,
    onEvent: ({ event }) => {
      if (event === "tool_call") called.resolve();
    },
  });
  await called.promise;
  assert.equal(errorOf(await loop.client.ask("rewind_point", { session: "s1", turn: 2 })), "session_busy");
  assert.equal(errorOf(await rewind(loop, 2, 1)), "session_busy");
  assert.equal(errorOf(await rewind(loop, 1, 0)), "session_started");
  gate.resolve();
  assert.equal(contentOf(await second), "two");
});

test("a damaged session isn't rewound, and the line is named", async () => {
  await using loop = await threeTurns();
  await appendFile(loop.home.at("sessions/s1/0.jsonl"), '{"kind":"user"');
  const answer = await rewind(loop, 1, 0);
  assert.ok(answer.kind === "error" && answer.body.code === "internal");
  assert.match(answer.body.detail, /the line is torn; see docs\/runbook\.md#session-log-damaged/u);
});

test("turns are counted over all epochs, and a session rewound into a summed-up stretch is as it was there", async () => {
  await using loop = await TestLoop.start({
    model: {
      script: (request) => {
        if (isSummaryRequest(request)) return reply({ content: "They met." });
        return request.chat.messages.at(-1)?.role === "user" ? reply(CALL) : reply({ content: "done" });
      },
    },
    broker: async (_request, answer) => {
      await answer(result("text", { class: "private" }), true);
    },
  });
  await loop.client.turn("s1", "first");
  await loop.client.turn("s1", "second", { resume: true });
  assert.equal((await loop.client.compact("s1")).end.kind, "ok");
  await loop.client.turn("s1", "third", { resume: true });
  const systems: string[] = [];
  for (const [turn, call] of [
    [1, 1],
    [2, 2],
    [3, 3],
  ] as const) {
    assert.deepEqual(await loop.client.ask("rewind_point", { session: "s1", turn }), {
      kind: "rewind_point_report",
      body: { session: "s1", turn, turns: 3, call },
    });
    assert.equal((await rewind(loop, turn, call, `r${turn}`)).kind, "session_started");
    await loop.restart();
    await loop.client.turn(`r${turn}`, "on", { resume: true });
    systems.push(systemOf(loop.model.requests.at(-1)));
    // Its calls go on behind those of which it knows no more than the summary.
    assert.deepEqual(loop.broker.requests.at(-1)?.call, call + 1);
  }
  assert.deepEqual(
    systems.map((system) => system.endsWith("They met.")),
    [false, true, true],
  );
  assert.equal(errorOf(await loop.client.ask("rewind_point", { session: "s1", turn: 4 })), "no_such_turn");
});
