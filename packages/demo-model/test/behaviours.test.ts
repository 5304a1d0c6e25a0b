/** What the tests' model server does as other servers do it: caches that lose, a router that loads, answers of other programs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CacheBehaviour, reply, startModelServer } from "../src/index.ts";
import { ask, askJson, events } from "./support/client.ts";

const PATH = "/v1/chat/completions";
const A = "the quick brown fox jumps over the lazy dog";
const B = "other words in another order";

/** How many tokens each of these prompts, on its slot, was spared. */
async function cachedOf(
  cache: CacheBehaviour,
  prompts: readonly (readonly [slot: number, text: string])[],
): Promise<readonly number[]> {
  await using server = await startModelServer({ cache, slots: 2, script: () => reply({ content: "x" }) });
  const cached: number[] = [];
  for (const [id_slot, content] of prompts) {
    const body = { stream: true, id_slot, messages: [{ role: "user", content }] };
    cached.push(events((await ask(server, "POST", PATH, body)).text).at(-1)?.timings?.cache_n ?? -1);
  }
  assert.deepEqual(server.violations, []);
  return cached;
}

test("startModelServer() keeps each slot's cache, and loses it to a request on another slot where the cache is unified", async () => {
  const prompts = [
    [0, A],
    [1, B],
    [0, A],
  ] as const;
  for (const cache of ["per-slot", "with-ram"] as const) {
    const [first, second, again] = await cachedOf(cache, prompts);
    assert.deepEqual([first, second], [0, 0], cache);
    assert.ok((again ?? 0) > 5, cache);
  }
  assert.deepEqual(await cachedOf("unified", prompts), [0, 0, 0]);
});

test("startModelServer() brings back what a slot lost only where it keeps that in memory", async () => {
  const prompts = [
    [0, A],
    [0, B],
    [0, A],
  ] as const;
  const alone = (await cachedOf("per-slot", prompts))[2] ?? 0;
  for (const cache of ["with-ram", "unified"] as const) assert.ok(((await cachedOf(cache, prompts))[2] ?? 0) > alone + 5, cache);
});

test("startModelServer() as a router says so, and counts a question that would load the model as a violation", async () => {
  await using server = await startModelServer({ router: "unloaded", modelName: "m", script: [] });
  const props = await askJson<{ role: string; total_slots?: number }>(server, "GET", "/props");
  assert.deepEqual([props.status, props.json.role, props.json.total_slots], [200, "router", undefined]);
  assert.equal((await ask(server, "GET", "/v1/models")).status, 200);
  assert.equal((await ask(server, "GET", "/slots")).status, 400);
  assert.equal((await ask(server, "GET", "/slots?model=other")).status, 400);
  assert.equal((await ask(server, "GET", "/slots?model=m&autoload=false")).status, 400);
  assert.equal((await ask(server, "POST", "/tokenize?autoload=false", { content: "x", model: "m" })).status, 400);
  assert.deepEqual(server.violations, []);
  assert.equal((await ask(server, "GET", "/slots?model=m")).status, 400);
  assert.deepEqual(server.violations, [{ kind: "autoload", route: "GET /slots" }]);
});

test("startModelServer() as a router with its model loaded answers for the model", async () => {
  await using server = await startModelServer({ router: "loaded", modelName: "m", script: [] });
  const props = await askJson<{ total_slots: number }>(server, "GET", "/props?model=m&autoload=false");
  assert.deepEqual([props.status, props.json.total_slots], [200, 1]);
  assert.equal((await ask(server, "POST", "/tokenize", { content: "x", model: "m" })).status, 200);
  assert.deepEqual(server.violations, []);
});

test("startModelServer() gives a test's answer in place of its own, or none at all", async () => {
  await using server = await startModelServer({
    script: [],
    routes: (route) => {
      if (route === "GET /props?x=1") return { status: 302, body: "<html>", headers: { location: "/" } };
      return route === "GET /slots" ? "hang-up" : undefined;
    },
  });
  const answer = await ask(server, "GET", "/props?x=1");
  assert.deepEqual([answer.status, answer.text, answer.headers.location], [302, "<html>", "/"]);
  await assert.rejects(ask(server, "GET", "/slots"));
  assert.equal((await ask(server, "GET", "/props")).status, 200);
});

test("startModelServer() answers who wants one token by itself, beside the script, unless a test says otherwise", async () => {
  const probe = { stream: true, max_tokens: 1, messages: [{ role: "user", content: "hi" }] };
  await using server = await startModelServer({ script: [] });
  assert.match((await ask(server, "POST", PATH, probe)).text, /"finish_reason":"length".*\[DONE\]/su);
  assert.deepEqual([server.requests, server.violations], [[], []]);
  await using scripted = await startModelServer({ script: [], probe: null });
  assert.equal((await ask(scripted, "POST", PATH, probe)).status, 500);
});
