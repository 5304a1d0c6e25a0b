import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { serveDemoModel } from "../src/index.ts";
import { ask, askJson, assemble, events, isDone } from "./support/client.ts";

const SYSTEM = { role: "system", content: "You are an assistant.\n\nNotes folder: /home/me/notes\nBe brief." };
const CORE_TOOLS = ["clock", "find_tool", "call_tool"].map((name) => ({ type: "function", function: { name, parameters: {} } }));
const LISTEN = { listen: { kind: "tcp", port: 0 } } as const;

function chat(messages: readonly unknown[], more: object = {}) {
  return { stream: true, tools: CORE_TOOLS, messages: [SYSTEM, ...messages], ...more };
}

async function reply(server: { url: string }, messages: readonly unknown[], more: object = {}) {
  const answer = await ask(server, "POST", "/v1/chat/completions", chat(messages, more));
  assert.equal(answer.status, 200, answer.text);
  return assemble(answer.text);
}

function user(content: unknown) {
  return { role: "user", content };
}

const CALLS: readonly (readonly [request: string, name: string, call: object])[] = [
  ["read the file todo.md in my notes", "read_file", { path: "/home/me/notes/todo.md" }],
  ["read ../../other/secret.txt in my notes", "read_file", { path: "/home/other/secret.txt" }],
  ["read /etc/../etc/passwd", "read_file", { path: "/etc/passwd" }],
  ['write "buy milk" to shopping.md in my notes', "write_file", { path: "/home/me/notes/shopping.md", content: "buy milk" }],
  ["run `ls -l`", "shell", { command: "ls -l", cwd: "/home/me/notes" }],
  ["fetch https://example.com/", "http_fetch", { url: "https://example.com/" }],
  ["list my notes", "shell", { command: "ls -l '/home/me/notes'" }],
];
for (const [request, name, call] of CALLS) {
  test(`the demo model calls ${name} by way of call_tool for ${JSON.stringify(request)}`, async () => {
    await using server = await serveDemoModel(LISTEN);
    const { calls, finish } = await reply(server, [user(request)]);
    assert.equal(calls.length, 1);
    assert.equal(calls[0]?.name, "call_tool");
    assert.match(calls[0]?.id ?? "", /^[A-Za-z0-9]{32}$/u);
    assert.deepEqual(JSON.parse(calls[0]?.arguments ?? ""), { name, arguments: call });
    assert.equal(finish, "tool_calls");
  });
}

test("the demo model calls a tool by its own name where the request offers it", async () => {
  await using server = await serveDemoModel(LISTEN);
  const tools = [{ type: "function", function: { name: "read_file" } }];
  const { calls } = await reply(server, [user([{ type: "text", text: "read todo.md" }])], { tools });
  assert.equal(calls[0]?.name, "read_file");
  assert.deepEqual(JSON.parse(calls[0]?.arguments ?? ""), { path: "/home/me/notes/todo.md" });
});

test("the demo model says that it has no tool, or doesn't know the folder, rather than calling something else", async () => {
  await using server = await serveDemoModel(LISTEN);
  const noTools = await reply(server, [user("read todo.md")], { tools: [] });
  assert.match(noTools.content, /would need the tool read_file/u);
  const noFolder = await reply(server, [user("read todo.md")], { messages: [user("read todo.md")] });
  assert.match(noFolder.content, /demo model and don't know which folder "todo\.md" is in/u);
});

test("the demo model says plainly that it is not a language model", async () => {
  await using server = await serveDemoModel(LISTEN);
  const { content, calls, finish } = await reply(server, [user("tell me a joke")]);
  assert.match(content, /^I am Boxmaker's built-in demo model\. I am NOT a language model/u);
  assert.deepEqual([calls, finish], [[], "stop"]);
});

const RESULTS: readonly (readonly [tool: string, call: object, result: string, expected: RegExp])[] = [
  ["read_file", { path: "/n/todo.md" }, "- buy milk\n", /^Here is \/n\/todo\.md:\n\n- buy milk\n$/u],
  ["write_file", { path: "/n/x" }, "wrote 3 bytes", /^Done: \/n\/x is written\. wrote 3 bytes$/u],
  ["shell", { command: "ls" }, "a\nb\n", /^The command printed:\n\na\nb\n$/u],
  ["shell", { command: "true" }, "", /^The command ran and printed nothing\.$/u],
  ["http_fetch", { url: "https://e/" }, "<p>", /^Here is https:\/\/e\/:\n\n<p>$/u],
  [
    "read_file",
    { path: "/etc/passwd" },
    "Denied: no grant of the owner allows this call.",
    /^I could not do it: the call was denied\. The reason I was told: no grant of the owner allows this call\.$/u,
  ],
  [
    "read_file",
    { path: "/n/x" },
    "read_file: /n/x: no such file",
    /^I could not do it\. What I was told: read_file: \/n\/x: no such file$/u,
  ],
  ["shell", { command: "x" }, "The call was not run: no sandbox.", /^I could not do it\. What I was told: The call was not run/u],
  ["unknown", {}, "something", /^Here is the result:\n\nsomething$/u],
];
for (const [tool, call, result, expected] of RESULTS) {
  test(`the demo model tells what ${tool} answered with ${JSON.stringify(result)}`, async () => {
    await using server = await serveDemoModel(LISTEN);
    const made = {
      id: "x1",
      type: "function",
      function: { name: "call_tool", arguments: JSON.stringify({ name: tool, arguments: call }) },
    };
    const { content, calls } = await reply(server, [
      user("do it"),
      { role: "assistant", content: "", tool_calls: [made] },
      { role: "tool", tool_call_id: "x1", content: result },
    ]);
    assert.match(content, expected);
    assert.deepEqual(calls, []);
  });
}

test("the demo model's stream has the shape of llama-server's", async () => {
  await using server = await serveDemoModel(LISTEN);
  const body = chat([user("read todo.md")], { return_progress: true, stream_options: { include_usage: true }, model: "m" });
  const answer = await ask(server, "POST", "/v1/chat/completions", body);
  assert.equal(answer.headers["content-type"], "text/event-stream");
  assert.ok(isDone(answer.text));
  const chunks = events(answer.text);
  const [first, second, third] = chunks;
  for (const chunk of chunks) {
    assert.deepEqual([chunk.object, chunk.id, chunk.model], ["chat.completion.chunk", first?.id, "m"]);
  }
  const total = first?.prompt_progress?.total ?? 0;
  assert.deepEqual(first?.prompt_progress, { total, cache: 0, processed: 0, time_ms: 0 });
  assert.deepEqual(second?.prompt_progress, { total, cache: 0, processed: total, time_ms: total });
  assert.equal(third?.prompt_progress, undefined);
  for (const chunk of [first, second, third]) {
    assert.deepEqual(chunk?.choices[0]?.delta, { role: "assistant", content: null });
  }
  const pieces = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  assert.deepEqual(pieces[0]?.function, { name: "call_tool" });
  assert.ok(pieces.length > 2);
  assert.ok(pieces.slice(1).every((piece) => piece.id === undefined && piece.function.name === undefined));
  const finish = chunks.at(-2);
  assert.deepEqual([finish?.choices[0]?.finish_reason, finish?.timings], ["tool_calls", undefined]);
  const last = chunks.at(-1);
  assert.deepEqual(last?.choices, []);
  assert.ok(last?.timings && last.usage);
  assert.equal(last.timings.cache_n + last.timings.prompt_n, total);
  assert.equal(last.usage.completion_tokens, last.timings.predicted_n);
  assert.equal(last.usage.prompt_tokens, total);
});

test("the demo model counts cached tokens by what the slot really holds", async () => {
  await using server = await serveDemoModel(LISTEN);
  const timings = async (messages: readonly unknown[], id_slot: number) => {
    const answer = await ask(server, "POST", "/v1/chat/completions", chat(messages, { id_slot }));
    const counts = events(answer.text).at(-1)?.timings;
    assert.ok(counts);
    return { ...counts, ...assemble(answer.text) };
  };
  const first = await timings([user("hello")], 1);
  assert.equal(first.cache_n, 0);
  const history = [user("hello"), { role: "assistant", content: first.content }];
  const held = first.prompt_n + first.predicted_n;
  const second = await timings([...history, user("hello again")], 1);
  // The whole first turn and the token that ends a message.
  assert.equal(second.cache_n, held + 1);
  const elsewhere = await timings([...history, user("hello again")], 2);
  assert.equal(elsewhere.cache_n, 0);
  const changed = await timings([{ role: "user", content: "hullo" }, ...history.slice(1), user("hello again")], 1);
  assert.ok(changed.cache_n > 0 && changed.cache_n < first.prompt_n);
  const same = await timings([{ role: "user", content: "hullo" }, ...history.slice(1), user("hello again")], 1);
  assert.equal(same.prompt_n, 1);
});

test("the demo model answers in one body without stream", async () => {
  await using server = await serveDemoModel(LISTEN);
  interface Completion {
    object: string;
    choices: { finish_reason: string; message: { tool_calls: { function: { name: string } }[] } }[];
    timings: { cache_n: number };
  }
  const body = chat([user("read todo.md")], { stream: false });
  const { json } = await askJson<Completion>(server, "POST", "/v1/chat/completions", body);
  const [choice] = json.choices;
  assert.deepEqual([json.object, choice?.finish_reason, json.timings.cache_n], ["chat.completion", "tool_calls", 0]);
  assert.equal(choice?.message.tool_calls[0]?.function.name, "call_tool");
});

test("the demo model answers the routes that say what a server is", async () => {
  await using server = await serveDemoModel(LISTEN);
  const get = async <Body>(path: string): Promise<Body> => (await askJson<Body>(server, "GET", path)).json;
  const post = async <Body>(path: string, body: unknown): Promise<Body> => (await askJson<Body>(server, "POST", path, body)).json;
  assert.deepEqual(await get("/health"), { status: "ok" });
  const props = await get<{ total_slots: number; default_generation_settings: { n_ctx: number }; model_alias: string }>("/props");
  assert.deepEqual([props.total_slots, props.default_generation_settings.n_ctx, props.model_alias], [4, 32_768, "demo"]);
  assert.equal((await get<{ data: { id: string }[] }>("/v1/models")).data[0]?.id, "demo");
  const idle = { id: 3, n_ctx: 32_768, speculative: false, is_processing: false };
  assert.deepEqual((await get<unknown[]>("/slots"))[3], idle);
  const { tokens } = await post<{ tokens: number[] }>("/tokenize", { content: "hello hello" });
  assert.equal(tokens.length, 2);
  assert.ok(tokens.every(Number.isInteger));
  const pieces = await post<{ tokens: { piece: string }[] }>("/tokenize", { content: "a b", with_pieces: true });
  assert.deepEqual(
    pieces.tokens.map((token) => token.piece),
    ["a", " b"],
  );
  const body = chat([user("hello")]);
  const count = await post<{ input_tokens: number }>("/v1/chat/completions/input_tokens", body);
  const { prompt } = await post<{ prompt: string }>("/apply-template", body);
  const counted = await post<{ tokens: number[] }>("/tokenize", { content: prompt });
  assert.equal(count.input_tokens, counted.tokens.length);
  assert.equal((await ask(server, "GET", "/nothing")).status, 404);
});

test("the demo model serves a Unix socket as well", async () => {
  const directory = await mkdtemp(join(tmpdir(), "demo-model-"));
  try {
    await using server = await serveDemoModel({ listen: { kind: "unix", path: join(directory, "m.sock") } });
    assert.equal((await ask(server, "GET", "/health")).text, '{"status":"ok"}');
  } finally {
    await rm(directory, { recursive: true });
  }
});
