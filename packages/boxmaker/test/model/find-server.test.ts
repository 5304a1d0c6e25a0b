import assert from "node:assert/strict";
import { test } from "node:test";
import { type CannedAnswer, type ModelServerOptions, startModelServer } from "@boxmaker/demo-model";
import { checkModel } from "../../src/doctor/box-checks.ts";
import { baseAddress, findServer, probeServer, wantsKey } from "../../src/model/find-server.ts";
import { parseListeners } from "../../src/model/listeners.ts";

/** What `probeServer` makes of a server like this, without its address. */
async function probe(options: Partial<ModelServerOptions>): Promise<Awaited<ReturnType<typeof probeServer>>> {
  await using server = await startModelServer({ script: [], ...options });
  const found = await probeServer(server.url);
  assert.deepEqual(server.violations, []);
  return found === undefined ? undefined : { ...found, url: "" };
}

/** A server that answers the question for its models like this. */
function listing(answer: CannedAnswer): Partial<ModelServerOptions> {
  return { routes: (route) => (route === "GET /v1/models" ? answer : undefined), flavour: "openai" };
}

test("probeServer() takes the first model of an OpenAI-compatible server, whatever else it says", async () => {
  const list = { object: "list", data: [{ id: "qwen", meta: { n_params: 1.5 } }, { id: "other" }] };
  const found = await probe(listing({ status: 200, body: JSON.stringify(list) }));
  assert.deepEqual(found, { url: "", model: "qwen", kind: "openai" });
});

test("probeServer() passes over models that aren't for chat, unless there is no other", async () => {
  const offering = (...ids: readonly string[]) =>
    probe(listing({ status: 200, body: JSON.stringify({ data: ids.map((id) => ({ id })) }) }));
  assert.equal((await offering("nomic-embed-text:latest", "bge-reranker", "qwen3:8b"))?.model, "qwen3:8b");
  assert.equal((await offering("nomic-embed-text:latest"))?.model, "nomic-embed-text:latest");
});

test("wantsKey() tells a server that wants a key from one that isn't there or wants none", async () => {
  for (const [options, wanted] of [
    [{ apiKey: "s3cret" }, true],
    [listing({ status: 401, body: "{}" }), true],
    [{}, false],
    [listing("hang-up"), false],
  ] as const) {
    await using server = await startModelServer({ script: [], ...options });
    assert.equal(await wantsKey(server.url), wanted);
  }
});

test("probeServer() tells a llama-server, and its router without making that load a model, from other servers", async () => {
  assert.equal((await probe({}))?.kind, "llama-server");
  assert.equal((await probe({ flavour: "openai" }))?.kind, "openai");
  for (const router of ["loaded", "unloaded"] as const) assert.equal((await probe({ router }))?.kind, "router");
  for (const answer of ["hang-up", { status: 200, body: "{}" }, { status: 500, body: "x" }] as const) {
    assert.equal((await probe({ routes: (route) => (route.startsWith("GET /props") ? answer : undefined) }))?.kind, "openai");
  }
});

test("probeServer() doesn't take what is no model server", async () => {
  const bodies = [
    "<html>",
    "{}",
    '{"data":[]}',
    '{"data":[{"name":"x"}]}',
    '{"data":{"id":"x"}}',
    `{"data":[{"id":"${"x".repeat(2_000_000)}"}]}`,
  ];
  for (const body of bodies) assert.equal(await probe(listing({ status: 200, body })), undefined, body.slice(0, 20));
  assert.equal(await probe(listing({ status: 404, body: '{"data":[{"id":"x"}]}' })), undefined);
  assert.equal(await probe(listing("hang-up")), undefined);
  assert.equal(await probe(listing({ status: 302, body: "", headers: { location: "http://127.0.0.1:1/" } })), undefined);
});

test("findServer() asks no server at a port where anything belongs to another user", async () => {
  const stranger = (process.getuid?.() ?? 0) + 12_345;
  await using server = await startModelServer({ script: [] });
  const port = Number(new URL(server.url).port);
  const ours = { port, uid: process.getuid?.() ?? 0 };
  assert.equal(await findServer({ ports: [port], listeners: [{ port, uid: stranger }] }), undefined);
  assert.equal(await findServer({ ports: [port], listeners: [ours, { port, uid: stranger }] }), undefined);
  assert.equal(await findServer({ ports: [port], listeners: [] }), undefined);
  assert.deepEqual(server.seen, []);
  assert.equal((await findServer({ ports: [port], listeners: [ours, { port, uid: 0 }] }))?.url, server.url);
});

test("doctor says what a box does without at a server that isn't a llama-server of one model", async () => {
  for (const [options, said] of [
    [{}, /^http:\/\/127\.0\.0\.1:[0-9]+ offers "scripted"$/u],
    [{ flavour: "openai" }, /a server without slots: it doesn't keep .*; see docs\/model-servers\.md$/u],
    [{ router: "loaded" }, /a llama-server's router: .*; see docs\/runbook\.md#model-server-settings$/u],
  ] as const) {
    await using server = await startModelServer({ script: [], ...options });
    const check = await checkModel({ ports: [Number(new URL(server.url).port)] });
    assert.equal(check.result, "ok");
    assert.match(check.text, said);
  }
});

test("parseListeners() finds what listens on loopback, with its user, in both tables", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1
   1: 00000000:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2
   2: 0A00007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 3
   3: 0100007F:1F92 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4
`;
  assert.deepEqual(parseListeners(table), [
    { port: 8080, uid: 1000 },
    { port: 11434, uid: 0 },
  ]);
  const table6 = `  sl  local_address
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 1000 0 1
   1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 1
   2: 0000000000000000FFFF00000100007F:0051 00000000000000000000000000000000:0000 0A 0:0 00:0 0 7 0 1
   3: 0000000000000000FFFF00000A00007F:0052 00000000000000000000000000000000:0000 0A 0:0 00:0 0 7 0 1
`;
  assert.deepEqual(parseListeners(table6), [
    { port: 8080, uid: 1000 },
    { port: 80, uid: 0 },
    { port: 81, uid: 7 },
  ]);
  assert.deepEqual(parseListeners(""), []);
});

test("baseAddress() takes an address with or without /v1, and nothing that has more to it", () => {
  for (const [text, address] of [
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://localhost:11434/v1", "http://localhost:11434"],
    ["https://models.example/v1/", "https://models.example"],
    ["http://[::1]:8000/", "http://[::1]:8000"],
  ] as const)
    assert.equal(baseAddress(text), address, text);
  for (const text of [
    "",
    "nonsense",
    "127.0.0.1:8080",
    "localhost:8080",
    "file:///v1",
    "http://host/v2",
    "http://host/v1/models",
    "http://me@host",
    "http://:secret@host",
    "http://host/?key=1",
    "http://host/#v1",
  ])
    assert.equal(baseAddress(text), undefined, text);
});
