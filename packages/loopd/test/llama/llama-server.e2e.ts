/** The client against a real llama-server and a small model. Nothing is said of what the model writes: only of how it arrives. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "@boxmaker/edge/log";
import type { CompletionResult, ModelEvent } from "../../src/model/completion.ts";
import type { ModelClient } from "../../src/model/model-client.ts";
import { selftest } from "../../src/selftest/selftest.ts";
import { openModel } from "../../src/serve.ts";
import { LoopClient, type TurnReport } from "../support/loop-client.ts";
import { missing, RealServer } from "./real-server.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const CONTEXT = 2_048;
/** What keeps slots apart: `-np 2 --cache-ram 0`. */
const SAFE = { n_ctx: 2 * CONTEXT, n_parallel: 2, cache_ram_mib: 0 };
const dependencies = { clock: systemClock, random: Math.random };
const skip = missing;

let server: RealServer | undefined;
before(async () => {
  if (skip === false) server = await RealServer.start(SAFE);
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
});

function started(): RealServer {
  if (server === undefined) throw new Error("the server didn't start");
  return server;
}

async function client(toml: string): Promise<ModelClient> {
  return openModel(await started().home.config(toml), dependencies);
}

interface Asked {
  readonly text: string;
  readonly slot?: number;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ModelEvent) => void;
}

async function complete(model: ModelClient, { text, slot = 0, signal, onEvent }: Asked): Promise<CompletionResult> {
  const messages = [JSON.stringify({ role: "user", content: text })];
  return await model.complete(
    { messages, tools: "[]", slot },
    onEvent ?? (() => undefined),
    signal ?? new AbortController().signal,
  );
}

/** What a completion came to, in a word. */
function outcome(result: CompletionResult): string {
  return result.kind === "completed" ? "completed" : result.error.code;
}

const SHORT = "[infer]\npoll_ms = 100\n[sampling]\nmax_tokens = 8\n";
const LONG = "[infer]\npoll_ms = 100\n[sampling]\nmax_tokens = 1500\n";
const ENDLESS = "Count from one to ten thousand, one number a line.";

test("the self-test finds nothing wrong with -np 2 --cache-ram 0, and what it prints is what it expects", { skip }, async () => {
  const { home } = started();
  const { signal } = new AbortController();
  const first = await selftest(await home.config(), dependencies, signal);
  assert.deepEqual([first.mismatches, first.warnings], [[], []], first.lines.join("\n"));
  assert.deepEqual(first.lines.slice(-2), ["completion: streamed to its end", "cache: each slot keeps its own"]);
  const section = first.lines.slice(first.lines.indexOf("[expect]")).slice(0, 4).join("\n");
  assert.match(section, /^\[expect\]\ncontext = 2048\nslots = 2\ntemplate_sha256 = "[0-9a-f]{64}"$/u);
  const again = await selftest(await home.config(`${section}\n`), dependencies, signal);
  assert.deepEqual([again.mismatches, again.warnings], [[], []]);
  const other = await selftest(await home.config("[expect]\nslots = 3\n"), dependencies, signal);
  assert.deepEqual(other.mismatches, ["slots: expected 3, got 2; see docs/runbook.md#selftest-failed"]);
});

test("the self-test finds the caches that a llama-server loses which shares one memory between its slots", { skip }, async () => {
  await using unified = await RealServer.start({ n_ctx: CONTEXT, n_parallel: 2, kv_unified: true });
  const { warnings } = await selftest(await unified.home.config(), dependencies, new AbortController().signal);
  assert.match(
    warnings[0] ?? "",
    /^cache of slot 0 after a request on slot 1: expected nearly \d+ tokens, got 0; /u,
    warnings.join("\n"),
  );
});

test("a completion arrives in pieces, with its counts, and the next is spared what the slot holds", { skip }, async () => {
  await using model = await client(SHORT);
  const events: ModelEvent[] = [];
  const text = "Name a colour. Any colour will do, as long as it is one that a painter would know by its name.";
  const first = await complete(model, { text, onEvent: (event) => events.push(event) });
  const second = await complete(model, { text });
  assert.ok(first.kind === "completed" && second.kind === "completed", JSON.stringify([first, second]));
  assert.ok(first.completion.usage.prompt > 10 && first.completion.usage.completion <= 8);
  assert.ok(events.some(({ event }) => event === "progress"));
  const streamed = events.map((event) => (event.event === "text" ? event.text : "")).join("");
  assert.equal(streamed, first.completion.content);
  assert.ok((second.completion.cacheHit ?? 0) >= second.completion.usage.prompt - 1);
});

test("a cancelled completion leaves its slot free for the next at once", { skip }, async () => {
  await using model = await client(LONG);
  const cancel = new AbortController();
  const onEvent = ({ event }: ModelEvent): void => {
    if (event === "text") cancel.abort();
  };
  assert.equal(outcome(await complete(model, { text: ENDLESS, signal: cancel.signal, onEvent })), "cancelled");
  await using next = await client(SHORT);
  assert.equal(outcome(await complete(next, { text: "Say hello." })), "completed");
});

test("a prompt that doesn't fit is context_full", { skip }, async () => {
  await using model = await client(SHORT);
  assert.equal(outcome(await complete(model, { text: "word ".repeat(3 * CONTEXT) })), "context_full");
});

test("two completions of one client on a slot follow one another; one of another client waits until the slot is free", {
  skip,
}, async () => {
  await using model = await client(SHORT);
  const queued: ModelEvent[] = [];
  const [one, two] = await Promise.all([
    complete(model, { text: "Name a fruit." }),
    complete(model, { text: "Name a tree.", onEvent: (event) => queued.push(event) }),
  ]);
  assert.deepEqual([outcome(one), outcome(two)], ["completed", "completed"]);
  assert.deepEqual(queued[0], { event: "queued", ahead: 1 });

  await using holder = await client(LONG);
  const cancel = new AbortController();
  const holds = Promise.withResolvers<void>();
  const holding = complete(holder, {
    text: ENDLESS,
    slot: 1,
    signal: cancel.signal,
    onEvent: ({ event }) => event === "text" && holds.resolve(),
  });
  await holds.promise;
  const waiting = Promise.withResolvers<void>();
  const second = complete(model, {
    text: "Name a bird.",
    slot: 1,
    onEvent: (event) => event.event === "waiting" && event.slot_busy && waiting.resolve(),
  });
  // Either may come first: a model may end by itself before the other has looked.
  await Promise.race([waiting.promise, holding]);
  cancel.abort();
  assert.equal(outcome(await second), "completed");
  await holding;
});

/** Starts `loopd serve`, and waits until it is ready. */
async function startLoop(config: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, "serve", "--config", config], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  assert.match(line.toString(), /^loopd: ready on /u);
  return child;
}

async function stopLoop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

test("four turns of a session, with a restart of loopd between them, read nothing again that the slot holds", {
  skip,
}, async () => {
  const { home } = started();
  await writeFile(home.at("etc/system.md"), "Answer in one word.\n");
  const config = await home.writeConfig("[sampling]\nmax_tokens = 12\n[limits]\nreply_bytes = 65536\n");
  const talk = new LoopClient(home.at("run/loop/loop.sock"));
  const turns: TurnReport[] = [];
  let loopd = await startLoop(config);
  try {
    for (const [index, text] of ["What is red?", "What is blue?", "What is green?", "What is white?"].entries()) {
      if (index === 2) {
        await stopLoop(loopd);
        loopd = await startLoop(config);
      }
      turns.push(await talk.turn("colours", text, { resume: index > 0, deadlineMs: 240_000 }));
    }
  } finally {
    await stopLoop(loopd);
  }
  assert.deepEqual(
    turns.map(({ end }) => end.kind),
    Array(4).fill("turn_done"),
    JSON.stringify(turns.map(({ end }) => end)),
  );
  assert.deepEqual(
    turns.flatMap(({ events }) => events.filter(({ event }) => event === "cache_loss")),
    [],
  );
  for (const { end } of turns.slice(1)) {
    const usage = end.kind === "turn_done" ? end.body.usage : undefined;
    assert.ok(usage !== undefined && (usage.cached ?? 0) > usage.prompt / 2, JSON.stringify(usage));
  }
});
