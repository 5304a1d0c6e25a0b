import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { type Exchange, errorBody, type ModelServer, refuse, reply, replySteps, startModelServer, stream } from "../src/index.ts";
import { ask, askJson, assemble, events, isDone, readUntilEnd, send } from "./support/client.ts";

const PATH = "/v1/chat/completions";
const CHAT = { stream: true, messages: [{ role: "user", content: "hi" }] };

/** The bytes that came next; pauses after them, so that none is missed. */
async function nextPiece(response: IncomingMessage): Promise<string> {
  const piece = await new Promise<Buffer>((resolve) => {
    response.once("data", (bytes: Buffer) => {
      response.pause();
      resolve(bytes);
    });
    response.resume();
  });
  return piece.toString();
}

async function isBusy(server: ModelServer): Promise<boolean | undefined> {
  return (await askJson<{ is_processing: boolean }[]>(server, "GET", "/slots")).json[0]?.is_processing;
}

test("startModelServer() keeps the bytes of every request and answers in the script's order", async () => {
  await using server = await startModelServer({ script: [reply({ content: "one" }), reply({ content: "two" })] });
  const body = '{ "stream":true,"messages":[{"role":"user","content":"ü"}],  "extra":1}';
  assert.equal(assemble((await ask(server, "POST", PATH, body)).text).content, "one");
  assert.equal(assemble((await ask(server, "POST", PATH, CHAT)).text).content, "two");
  assert.equal(server.requests[0]?.body.toString(), body);
  assert.equal((await server.received(2)).chat.messages[0]?.content, "hi");
  assert.deepEqual(server.seen, [`POST ${PATH}`, `POST ${PATH}`]);
  assert.deepEqual(server.violations, []);
});

test("startModelServer() counts a request beyond its script as a violation", async () => {
  await using server = await startModelServer({ script: [] });
  assert.equal((await ask(server, "POST", PATH, CHAT)).status, 500);
  assert.deepEqual(server.violations, [{ kind: "unscripted", request: 0 }]);
});

test("startModelServer() sends reasoning, text and calls in whole pieces, with what a script leaves out left out", async () => {
  await using server = await startModelServer({
    script: [
      reply({
        reasoning: "Let me think",
        content: "I call",
        calls: [
          { name: "a", arguments: '{"x":1}', id: "same" },
          { name: "b", arguments: '{"y"', id: "same" },
          { name: null, arguments: null, id: null },
        ],
        finish: "length",
      }),
    ],
  });
  const sum = assemble((await ask(server, "POST", PATH, CHAT)).text);
  assert.deepEqual(sum, {
    reasoning: "Let me think",
    content: "I call",
    calls: [{ id: "same", name: "a", arguments: '{"x":1}' }, { id: "same", name: "b", arguments: '{"y"' }, { arguments: "" }],
    finish: "length",
  });
});

test("startModelServer() delivers each piece when it is made, and waits at a gate", async () => {
  const gate = Promise.withResolvers<undefined>();
  await using server = await startModelServer({
    script: [
      stream([
        { kind: "bytes", bytes: "first" },
        { kind: "wait", gate: gate.promise },
        { kind: "bytes", bytes: "second" },
      ]),
    ],
  });
  const response = await send(server, "POST", PATH, CHAT).head;
  assert.equal(await nextPiece(response), "first");
  gate.resolve(undefined);
  assert.equal(await text(response), "second");
});

test("startModelServer() sends no head before the first step that sends, so that a request can be queued unheard", async () => {
  const gate = Promise.withResolvers<undefined>();
  await using server = await startModelServer({
    script: [stream([{ kind: "wait", gate: gate.promise }, ...replySteps({ content: "x" })])],
  });
  const outgoing = send(server, "POST", PATH, CHAT);
  let heads = 0;
  outgoing.request.on("response", () => {
    heads += 1;
  });
  await server.received(1);
  assert.equal(await isBusy(server), true);
  assert.equal(heads, 0);
  gate.resolve(undefined);
  assert.equal(assemble((await readUntilEnd(await outgoing.head)).text).content, "x");
});

test("startModelServer() cuts a body after any byte without an end", async () => {
  const whole = 'data: {"a":"ü"}\n\ndata: [DONE]\n\n';
  const length = Buffer.byteLength(whole);
  const cuts = Array.from({ length: length + 1 }, (_, cut) => cut);
  await using server = await startModelServer({
    script: cuts.map((cutAt) => stream([{ kind: "headers" }, { kind: "bytes", bytes: whole }], { cutAt })),
  });
  for (const cut of cuts) {
    const received = await readUntilEnd(await send(server, "POST", PATH, CHAT).head);
    assert.equal(received.complete, false);
    assert.equal(received.text, Buffer.from(whole).subarray(0, cut).toString());
    assert.equal(await server.requests[cut]?.ended, "cut");
  }
});

test("startModelServer() can send a stream byte by byte", async () => {
  await using server = await startModelServer({ script: [reply({ content: "größer" }, { split: "bytes" })] });
  const answer = await ask(server, "POST", PATH, CHAT);
  assert.equal(assemble(answer.text).content, "größer");
  assert.ok(isDone(answer.text));
});

const FAULTS: readonly (readonly [why: string, exchange: Exchange, expected: string])[] = [
  [
    "an error event and no [DONE]",
    stream([{ kind: "event", data: errorBody(500, "Context size has been exceeded.", "server_error") }]),
    'data: {"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}\n\n',
  ],
  [
    "bare text",
    stream([{ kind: "bytes", bytes: "proxy error: Failed to read connection" }]),
    "proxy error: Failed to read connection",
  ],
  ["pings", stream([{ kind: "ping" }, { kind: "ping" }, { kind: "done" }]), ":\n\n:\n\ndata: [DONE]\n\n"],
  ["nothing", stream([]), ""],
];
for (const [why, exchange, expected] of FAULTS) {
  test(`startModelServer() can answer with ${why} inside a 200`, async () => {
    await using server = await startModelServer({ script: [exchange] });
    const answer = await ask(server, "POST", PATH, CHAT);
    assert.deepEqual([answer.status, answer.text], [200, expected]);
  });
}

test("startModelServer() can write the connection's bytes itself", async () => {
  const wire = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort";
  await using server = await startModelServer({ script: [stream([{ kind: "wire", bytes: wire }])] });
  const received = await readUntilEnd(await send(server, "POST", PATH, CHAT).head);
  assert.deepEqual(received, { text: "short", complete: false });
});

test("startModelServer() answers 503 to everything while it is loading", async () => {
  await using server = await startModelServer({ script: [reply({ content: "x" })] });
  server.setLoading(true);
  for (const [method, path] of [
    ["GET", "/health"],
    ["POST", PATH],
  ] as const) {
    const { status, json } = await askJson<unknown>(server, method, path, method === "POST" ? CHAT : undefined);
    assert.equal(status, 503);
    assert.deepEqual(json, { error: { code: 503, message: "Loading model", type: "unavailable_error" } });
  }
  server.setLoading(false);
  assert.equal((await ask(server, "POST", PATH, CHAT)).status, 200);
});

test("startModelServer() records two requests that overlap on one slot, and answers the second when the first is through", async () => {
  const gate = Promise.withResolvers<undefined>();
  await using server = await startModelServer({
    slots: 2,
    script: [
      stream([{ kind: "headers" }, { kind: "wait", gate: gate.promise }, ...replySteps({ content: "first" })]),
      reply({ content: "second" }),
      reply({ content: "other slot" }),
    ],
  });
  // Slot 2 of two is slot 0 again.
  const first = send(server, "POST", PATH, { ...CHAT, id_slot: 0 });
  await server.received(1);
  const second = send(server, "POST", PATH, { ...CHAT, id_slot: 2 });
  await server.received(2);
  const third = await ask(server, "POST", PATH, { ...CHAT, id_slot: 1 });
  assert.equal(assemble(third.text).content, "other slot");
  assert.deepEqual(server.violations, [{ kind: "overlap", slot: 0, running: 0, arrived: 1 }]);
  gate.resolve(undefined);
  assert.equal(assemble((await readUntilEnd(await first.head)).text).content, "first");
  assert.equal(assemble((await readUntilEnd(await second.head)).text).content, "second");
});

test("startModelServer() sees a client go, while it waits and while it is queued, and gives the slot on", async () => {
  const never = Promise.withResolvers<never>().promise;
  await using server = await startModelServer({
    script: [
      stream([{ kind: "headers" }, { kind: "wait", gate: never }]),
      reply({ content: "queued" }),
      reply({ content: "third" }),
    ],
  });
  const first = send(server, "POST", PATH, CHAT);
  await first.head;
  const second = send(server, "POST", PATH, CHAT);
  const queued = await server.received(2);
  second.request.destroy();
  assert.equal(await queued.ended, "client-gone");
  first.request.destroy();
  assert.equal(await server.requests[0]?.ended, "client-gone");
  assert.equal(assemble((await ask(server, "POST", PATH, CHAT)).text).content, "third");
});

test("startModelServer() can keep a slot busy after its client has gone", async () => {
  const never = Promise.withResolvers<never>().promise;
  const hold = Promise.withResolvers<undefined>();
  await using server = await startModelServer({
    script: [stream([{ kind: "headers" }, { kind: "wait", gate: never }], { holdSlot: hold.promise })],
  });
  const first = send(server, "POST", PATH, CHAT);
  await first.head;
  first.request.destroy();
  await server.requests[0]?.ended;
  assert.equal(await isBusy(server), true);
  hold.resolve(undefined);
  assert.equal(await isBusy(server), false);
});

test("startModelServer() ends a thought when it is asked to, and only for a request that allows it", async () => {
  const gate = Promise.withResolvers<undefined>();
  const thought = (word: string) => ({ kind: "delta", delta: { reasoning_content: word } }) as const;
  const steps = [...replySteps({}).slice(0, 1), thought("one"), { kind: "wait", gate: gate.promise } as const, thought(" two")];
  const script = [stream([...steps, ...replySteps({ content: "so" }).slice(1)])];
  await using server = await startModelServer({ script });
  const response = await send(server, "POST", PATH, { ...CHAT, reasoning_control: true }).head;
  let received = "";
  while (!received.includes("one")) {
    received += await nextPiece(response);
  }
  const id = events(received)[0]?.id ?? "";
  const control = async (wanted: string): Promise<unknown> =>
    (await askJson<unknown>(server, "POST", `${PATH}/control`, { id: wanted, action: "reasoning_end" })).json;
  assert.deepEqual(await control("other"), { success: false, message: "no active completion for this id" });
  assert.deepEqual(await control(id), { success: true });
  gate.resolve(undefined);
  const rest = assemble(`${received}${(await readUntilEnd(response)).text}`);
  assert.deepEqual([rest.reasoning, rest.content], ["one", "so"]);
  assert.deepEqual(await server.controlled(2), { id, action: "reasoning_end" });
});

test("startModelServer() forgets a slot's cache, so that a loss is real", async () => {
  await using server = await startModelServer({ script: () => reply({ content: "x" }) });
  const cached = async (): Promise<number> => events((await ask(server, "POST", PATH, CHAT)).text).at(-1)?.timings?.cache_n ?? -1;
  assert.equal(await cached(), 0);
  assert.ok((await cached()) > 0);
  server.forgetSlot(0);
  assert.equal(await cached(), 0);
});

test("startModelServer() as another server has no slots, props, timings or progress", async () => {
  await using server = await startModelServer({ flavour: "openai", script: [reply({ content: "x" })] });
  for (const path of ["/props", "/slots", "/health"]) {
    assert.equal((await ask(server, "GET", path)).status, 404);
  }
  assert.equal((await ask(server, "GET", "/v1/models")).status, 200);
  const answer = await ask(server, "POST", PATH, { ...CHAT, return_progress: true, timings_per_token: true });
  assert.doesNotMatch(answer.text, /timings|prompt_progress/u);
});

test("startModelServer() with a key refuses requests without it, but not the public routes", async () => {
  await using server = await startModelServer({ apiKey: "k", script: [reply({ content: "x" })] });
  assert.equal((await ask(server, "POST", PATH, CHAT)).status, 401);
  assert.equal((await ask(server, "GET", "/health")).status, 200);
  assert.equal((await ask(server, "POST", PATH, CHAT, { authorization: "Bearer k" })).status, 200);
});

const REFUSED: readonly (readonly [why: string, body: unknown, status: number, type: string])[] = [
  ["a body that is no JSON", "{", 500, "server_error"],
  ["no messages", { stream: true }, 400, "invalid_request_error"],
  ["tools that aren't a list", { ...CHAT, tools: {} }, 500, "server_error"],
  ["a wrong type", { ...CHAT, max_tokens: "many" }, 400, "invalid_request_error"],
  [
    "a prompt longer than the slot",
    { messages: [{ role: "user", content: "x ".repeat(20_000) }] },
    400,
    "exceed_context_size_error",
  ],
];
for (const [why, body, status, type] of REFUSED) {
  test(`startModelServer() refuses ${why} as the original does`, async () => {
    await using server = await startModelServer({ script: [reply({ content: "x" })] });
    const answer = await askJson<{ error: { type: string } }>(server, "POST", PATH, body);
    assert.deepEqual([answer.status, answer.json.error.type], [status, type]);
  });
}

for (const stored of ['{"cut', "[]", "null", ""]) {
  test(`startModelServer() fails on a history with ${JSON.stringify(stored)} as a call's arguments`, async () => {
    await using server = await startModelServer({ script: [reply({ content: "x" })] });
    const tool_calls = [{ id: "a", type: "function", function: { name: "t", arguments: stored } }];
    const body = {
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "", tool_calls },
      ],
    };
    const { status, json } = await askJson<{ error: { message: string } }>(server, "POST", PATH, body);
    assert.deepEqual([status, json.error.message], [500, "Failed to parse tool call arguments as JSON"]);
  });
}

test("startModelServer() can refuse by script", async () => {
  await using server = await startModelServer({ script: [refuse(400, "no", "invalid_request_error", { hint: 1 })] });
  const { status, json } = await askJson<unknown>(server, "POST", PATH, CHAT);
  assert.deepEqual([status, json], [400, { error: { code: 400, message: "no", type: "invalid_request_error", hint: 1 } }]);
});

test("startModelServer() tells a test whose script throws, when it ends", async () => {
  const server = await startModelServer({
    script: () => {
      throw new Error("script fault");
    },
  });
  const outgoing = send(server, "POST", PATH, CHAT);
  await assert.rejects(outgoing.head);
  await assert.rejects(
    async () => {
      await server[Symbol.asyncDispose]();
    },
    (error: unknown) => error instanceof AggregateError && String(error.errors[0]).includes("script fault"),
  );
});

test("startModelServer() outlives clients that send nonsense or half a request", async () => {
  await using server = await startModelServer({ script: [reply({ content: "x" })] });
  const { port } = new URL(server.url);
  for (const bytes of ["nonsense\r\n\r\n", `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{`]) {
    const socket = connect({ port: Number(port), host: "127.0.0.1" });
    socket.on("error", () => undefined);
    socket.end(bytes);
    socket.resume();
    await once(socket, "close");
  }
  assert.equal((await ask(server, "POST", PATH, CHAT)).status, 200);
});
