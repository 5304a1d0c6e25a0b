import assert from "node:assert/strict";
import { appendFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { reply } from "@boxmaker/demo-model";
import { systemClock } from "@boxmaker/edge/log";
import { SessionError } from "@boxmaker/edge/session-files";
import { AbsPath, CallId, SessionId, ZERO_HASH } from "@boxmaker/proto";
import { Session } from "../../src/session/session.ts";
import { SessionStore } from "../../src/session/session-store.ts";
import { TestHome } from "../support/home.ts";
import { codeOf, contentOf } from "../support/loop-client.ts";
import { result } from "../support/scripted-broker.ts";
import { TestLoop } from "../support/test-loop.ts";

const ID = SessionId.parse("s1");
const NEW = {
  id: ID,
  origin: "terminal",
  slot: 0,
  baseline: { version: 1, memory: false, system: "Be kind.", tools: "[]" },
} as const;

async function storeIn(home: TestHome): Promise<SessionStore> {
  const store = new SessionStore(AbsPath.parse(home.at("sessions")), systemClock);
  await store.prepare();
  return store;
}

/** What opening the session is refused with. */
async function refusal(store: SessionStore): Promise<SessionError> {
  try {
    await (await store.open(ID))[Symbol.asyncDispose]();
  } catch (error) {
    if (error instanceof SessionError) return error;
    throw error;
  }
  throw new Error("the session was expected to be refused");
}

test("a session comes back as it was written, and its call ids go on", async () => {
  await using home = await TestHome.make();
  const store = await storeIn(home);
  {
    await using session = await store.create(NEW);
    await session.append({ kind: "cancelled", reason: "test" });
    assert.equal(await session.takeCall("x", "shell"), 1);
    assert.equal(await session.takeCall("y", "shell"), 2);
  }
  await using session = await store.open(ID);
  assert.deepEqual(session.baseline, NEW.baseline);
  assert.deepEqual(
    session.records.map(({ kind }) => kind),
    ["cancelled", "call_sent", "call_sent"],
  );
  assert.equal(await session.takeCall("z", "shell"), 3);
});

test("create() refuses a session that is there, and open() one that isn't", async () => {
  await using home = await TestHome.make();
  const store = await storeIn(home);
  assert.equal((await refusal(store)).fault, "missing");
  await (await store.create(NEW))[Symbol.asyncDispose]();
  await assert.rejects(store.create(NEW), { fault: "exists" });
  assert.deepEqual(await readdir(home.at("sessions")), ["s1"]);
});

test("what a killed loopd left half made is removed at start, and nothing else", async () => {
  await using home = await TestHome.make();
  const store = await storeIn(home);
  await (await store.create(NEW))[Symbol.asyncDispose]();
  await mkdir(home.at("sessions/.new-s2-0"));
  await writeFile(home.at("sessions/.new-s2-0/0.baseline.json"), "{");
  await store.prepare();
  assert.deepEqual(await readdir(home.at("sessions")), ["s1"]);
  assert.deepEqual(await store.list(), ["s1"]);
});

const LOG = "sessions/s1/0.jsonl";
const RECORD = '{"kind":"cancelled","reason":"x"}\n';
const EPOCH_END =
  '{"kind":"epoch_end","carry":"nothing","shortened":null,"summary":"x","usage":{"prompt":1,"completion":1,"cached":null}}\n';
const DAMAGES: readonly (readonly [what: string, line: number, damage: (text: string) => string | Buffer])[] = [
  ["a torn last line", 3, (text) => `${text}${RECORD}${RECORD.slice(0, 10)}`],
  ["a whole last line without its end", 3, (text) => `${text}${RECORD}${RECORD.slice(0, -1)}`],
  ["a line that is no JSON", 2, (text) => `${text}nonsense\n${RECORD}`],
  ["an empty line", 2, (text) => `${text}\n${RECORD}`],
  ["an unknown record", 2, (text) => `${text}{"kind":"wish"}\n`],
  ["an unknown key", 3, (text) => `${text}${RECORD}{"kind":"cancelled","reason":"x","why":1}\n`],
  ["a duplicate key", 2, (text) => `${text}{"kind":"cancelled","reason":"x","reason":"y"}\n`],
  ["a second start", 2, (text) => `${text}${text}`],
  ["no start", 1, () => RECORD],
  ["nothing", 1, () => ""],
  ["bytes that aren't UTF-8", 2, (text) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0x0a])])],
  ["a version from the future", 1, (text) => text.replace('"version":1', '"version":2')],
  ["a record after the end of its epoch", 3, (text) => `${text}${EPOCH_END}${RECORD}`],
  ["another epoch's start", 1, (text) => text.replace('"epoch":0', '"epoch":1')],
  [
    "another baseline's hash",
    1,
    (text) => text.replace(/"baseline":"./u, '"baseline":"0').replace(/"baseline":"0000/u, '"baseline":"1'),
  ],
];

for (const [what, line, damage] of DAMAGES) {
  test(`a log with ${what} is refused, naming the line and the runbook`, async () => {
    await using home = await TestHome.make();
    const store = await storeIn(home);
    await (await store.create(NEW))[Symbol.asyncDispose]();
    const text = await readFile(home.at(LOG), "utf8");
    const damaged = damage(text);
    // The one damage that leaves a log alone by chance is no test.
    assert.notEqual(String(damaged), text);
    await writeFile(home.at(LOG), damaged);
    const { fault, message } = await refusal(store);
    assert.equal(fault, "damaged");
    assert.match(message, new RegExp(`line ${line}: .*; see docs/runbook\\.md#session-log-damaged$`, "u"));
    assert.equal(message.split("\n").length, 1);
  });
}

test("a changed baseline file is refused", async () => {
  await using home = await TestHome.make();
  const store = await storeIn(home);
  await (await store.create(NEW))[Symbol.asyncDispose]();
  await appendFile(home.at("sessions/s1/0.baseline.json"), " ");
  assert.equal((await refusal(store)).fault, "damaged");
});

test("a turn on a damaged session is refused with the line, and other sessions go on", async () => {
  await using loop = await TestLoop.start({ model: { script: () => reply({ content: "ok" }) } });
  await loop.client.turn("s1", "go");
  await loop.client.turn("s2", "go");
  await appendFile(loop.home.at(LOG), '{"kind":');
  const turn = await loop.client.turn("s1", "go", { resume: true });
  assert.equal(codeOf(turn), "internal");
  assert.match(
    turn.end.kind === "error" ? turn.end.body.detail : "",
    /line 5: the line is torn; see docs\/runbook\.md#session-log-damaged/u,
  );
  assert.equal(contentOf(await loop.client.turn("s2", "go", { resume: true })), "ok");
});

test("an append that the disk refuses is unwritable, isn't remembered, and the session takes nothing more", async () => {
  const start = {
    kind: "session_start",
    version: 1,
    time: "2027-01-01T00:00:00.000Z",
    epoch: 0,
    origin: "terminal",
    slot: 0,
  } as const;
  const contents = {
    id: ID,
    start: { ...start, baseline: ZERO_HASH } as never,
    baseline: NEW.baseline,
    records: [],
    end: undefined,
  };
  const seenBefore = { taint: "public", untrusted: false } as const;
  await using session = await Session.open({
    ...contents,
    seenBefore,
    mayHaveMemory: false,
    nextCall: CallId.parse(1),
    path: "/dev/full",
    length: 0,
  });
  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(session.append({ kind: "cancelled", reason: "x" }), {
      fault: "unwritable",
      message: /ENOSPC; see docs\/runbook\.md#session-unwritable$/u,
    });
  }
  await assert.rejects(session.takeCall("x", "shell"), { fault: "unwritable" });
  assert.deepEqual(session.records, []);
});

test("what couldn't be read back is never written", async () => {
  await using home = await TestHome.make();
  await using session = await (await storeIn(home)).create(NEW);
  await assert.rejects(session.append({ kind: "user", time: "not a time", text: "x" } as never), { name: "ZodError" });
  await session.append({ kind: "cancelled", reason: "fine" });
  assert.equal(session.records.length, 1);
});

test("every request of a session begins with the bytes of the one before it, also after a restart and after changed files", async () => {
  const read = { name: "read_file", arguments: '{"path": "/a"}' };
  const script = [
    reply({ reasoning: "Hm.", content: "I look.", calls: [read, { name: "clock", arguments: "{" }] }),
    reply({ content: "Grüße 🦀" }),
    reply({ content: "two" }),
    reply({ reasoning: "Well.", calls: [read] }),
    reply({ content: "three" }),
  ];
  await using loop = await TestLoop.start({
    model: { script },
    broker: async (_request, send) => {
      await send(result('tool "text"\n'), true);
    },
  });
  await loop.client.turn("s1", "first");
  await loop.client.turn("s1", "second", { resume: true });
  await writeFile(loop.home.at("memory/core.md"), "New memory.\n");
  await writeFile(loop.home.at("etc/system.md"), "New prompt.\n");
  await loop.restart();
  await loop.client.turn("s1", "third", { resume: true });
  const bodies = loop.model.requests.map(({ body }) => body.toString());
  assert.equal(bodies.length, 5);
  for (const [index, body] of bodies.entries()) {
    const before = bodies[index - 1];
    if (before !== undefined) assert.equal(body.slice(0, before.length - 2), before.slice(0, -2), `request ${index}`);
  }
  assert.deepEqual(
    (await loop.records("s1")).filter(({ kind }) => kind === "cache_loss"),
    [],
  );
});

test("a cache that the server lost is recorded and shown, with what was expected and what was there", async () => {
  const text = "A long question about many things. ".repeat(40);
  await using loop = await TestLoop.start({ model: { script: () => reply({ content: "ok" }) } });
  const first = await loop.client.turn("s1", text);
  assert.deepEqual(
    first.events.filter(({ event }) => event === "cache_loss"),
    [],
  );
  loop.model.forgetSlot(0);
  await loop.restart();
  const second = await loop.client.turn("s1", "and now", { resume: true });
  const [loss] = second.events.filter(({ event }) => event === "cache_loss");
  const usage = first.end.kind === "turn_done" ? first.end.body.usage : undefined;
  assert.deepEqual(loss, { event: "cache_loss", expected: (usage?.prompt ?? 0) + (usage?.completion ?? 0), cached: 0 });
  assert.equal((await loop.records("s1")).filter(({ kind }) => kind === "cache_loss").length, 1);
});

test("the baseline holds the prompt, the notes folder and the memory, trimmed and parted by blank lines", async () => {
  await using loop = await TestLoop.start({ model: { script: [reply({ content: "ok" })] }, toml: "" });
  await writeFile(loop.home.at("etc/system.md"), "Be brief.\n\n");
  await writeFile(loop.home.at("memory/core.md"), "\n  Her name is Ada.\n");
  await loop.client.turn("s1", "go");
  assert.equal(loop.model.requests[0]?.chat.messages[0]?.content, "Be brief.\n\nHer name is Ada.");
});

test("an unreadable memory is refused with a pointer and no session is made; a missing one is fine", async () => {
  await using loop = await TestLoop.start({ model: { script: [reply({ content: "ok" })] } });
  await writeFile(loop.home.at("memory/core.md"), Buffer.from([0xff]));
  const turn = await loop.client.turn("s1", "go");
  assert.equal(codeOf(turn), "internal");
  assert.match(
    turn.end.kind === "error" ? turn.end.body.detail : "",
    /core memory .*; see docs\/runbook\.md#core-memory-unreadable$/u,
  );
  assert.deepEqual(await readdir(loop.home.at("sessions")), []);
});

test("a folder in the memory's place is refused too", async () => {
  await using loop = await TestLoop.start({ model: { script: [] } });
  await mkdir(loop.home.at("memory/core.md"));
  assert.equal(codeOf(await loop.client.turn("s1", "go")), "internal");
});
