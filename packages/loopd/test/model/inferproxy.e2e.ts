/** The client behind a real inferproxy, as in a box: what the one says and the other understands. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { test } from "node:test";
import { type ModelServer, reply, replySteps, startModelServer, stream } from "@boxmaker/demo-model";
import { systemClock } from "@boxmaker/edge/log";
import type { CompletionResult, ModelEvent, OnModelEvent } from "../../src/model/completion.ts";
import type { ModelClient } from "../../src/model/model-client.ts";
import { openModel } from "../../src/serve.ts";
import { TestHome } from "../support/home.ts";
import { RoleProcess } from "../support/role-process.ts";

const hello = reply({ content: "hello" });
const never = new Promise(() => {});

class Box implements AsyncDisposable {
  readonly home: TestHome;
  readonly socket: string;
  readonly client: ModelClient;

  private constructor(home: TestHome, socket: string, client: ModelClient) {
    this.home = home;
    this.socket = socket;
    this.client = client;
  }

  static async make(): Promise<Box> {
    const home = await TestHome.make();
    const config = await home.config("[infer]\npoll_ms = 20\n");
    return new Box(home, home.at("run/infer/infer.sock"), openModel(config, { clock: systemClock, random: () => 0 }));
  }

  async complete(onEvent: OnModelEvent = () => undefined, signal = new AbortController().signal): Promise<CompletionResult> {
    const messages = [JSON.stringify({ role: "user", content: "hi" })];
    return await this.client.complete({ messages, tools: "[]", slot: 0 }, onEvent, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }
}

function contentOf(result: CompletionResult): string {
  return result.kind === "completed" ? result.completion.content : result.error.code;
}

function portOf(server: ModelServer): number {
  return Number(new URL(server.url).port);
}

test("a completion and all that is asked beside it go through inferproxy, which adds the key", async () => {
  await using box = await Box.make();
  const key = box.home.at("key");
  await writeFile(key, "s3cret\n", { mode: 0o600 });
  await using server = await startModelServer({ script: [hello], apiKey: "s3cret" });
  await using _proxy = await RoleProcess.inferproxy(box.socket, server.url, ["--api-key-file", key]);
  assert.equal(contentOf(await box.complete()), "hello");
  assert.ok(server.seen.includes("GET /props"));
  assert.deepEqual(server.violations, []);
});

test("a reply survives that inferproxy is killed in its middle: what was shown is discarded and it is asked for again", async () => {
  await using box = await Box.make();
  const steps = [...replySteps({ content: "half of it" }).slice(0, 3), { kind: "wait", gate: never } as const];
  await using server = await startModelServer({ script: [stream(steps), hello] });
  const first = await RoleProcess.inferproxy(box.socket, server.url);
  await using stack = new AsyncDisposableStack();
  stack.use(first);
  const restarted = Promise.withResolvers<void>();
  const told: string[] = [];
  const onEvent = (event: ModelEvent): void => {
    if (event.event === "waiting" || event.event === "progress") return;
    if (event.event === "text" && told.length === 0) {
      first
        .kill()
        .then(() => RoleProcess.inferproxy(box.socket, server.url))
        .then((proxy) => stack.use(proxy))
        .then(() => restarted.resolve(), restarted.reject);
    }
    if (event.event !== told.at(-1)) told.push(event.event);
  };
  const result = await box.complete(onEvent);
  await restarted.promise;
  assert.equal(contentOf(result), "hello");
  assert.deepEqual(told, ["text", "discarded", "retrying", "text"]);
  assert.equal(await server.requests[0]?.ended, "client-gone");
  assert.deepEqual(server.violations, []);
});

test("a model server that isn't there behind inferproxy is unreachable, tried again, and found when it comes", async () => {
  await using box = await Box.make();
  const gone = await startModelServer({ script: [] });
  const port = portOf(gone);
  await gone[Symbol.asyncDispose]();
  await using _proxy = await RoleProcess.inferproxy(box.socket, `http://127.0.0.1:${port}`);
  const came = Promise.withResolvers<ModelServer>();
  const problems: string[] = [];
  const result = await box.complete((event) => {
    if (event.event !== "retrying") return;
    problems.push(event.error);
    if (problems.length === 1) startModelServer({ script: [hello], listen: { kind: "tcp", port } }).then(came.resolve, came.reject);
  });
  await using _server = await came.promise;
  assert.equal(contentOf(result), "hello");
  assert.equal(problems[0], "inferproxy can't reach the model server (ECONNREFUSED)");
});

test("cancelling a completion closes the model server's connection behind inferproxy", async () => {
  await using box = await Box.make();
  await using server = await startModelServer({ script: [stream([{ kind: "start" }, { kind: "wait", gate: never }])] });
  await using _proxy = await RoleProcess.inferproxy(box.socket, server.url);
  const cancel = new AbortController();
  const cancelled = box.complete(() => undefined, cancel.signal);
  const request = await server.received(1);
  cancel.abort();
  assert.equal(contentOf(await cancelled), "cancelled");
  assert.equal(await request.ended, "client-gone");
});
