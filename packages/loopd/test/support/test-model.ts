/** A model client on a scripted server, without the rest of loopd. */
import { type ModelServer, type ModelServerOptions, startModelServer } from "@boxmaker/demo-model";
import { type Clock, systemClock } from "@boxmaker/edge/log";
import type { CompletionRequest, CompletionResult, ModelEvent } from "../../src/model/completion.ts";
import type { ModelClient } from "../../src/model/model-client.ts";
import { openModel } from "../../src/serve.ts";
import { TestHome } from "./home.ts";

export interface TestModelOptions extends Omit<ModelServerOptions, "listen"> {
  readonly toml?: string;
  readonly clock?: Clock;
}

/** One attempt unless the test says otherwise. */
const ONCE = "[infer]\nretry_attempts = 1\npoll_ms = 20\n";

export class TestModel implements AsyncDisposable {
  readonly home: TestHome;
  readonly server: ModelServer;
  readonly client: ModelClient;
  readonly #resources: AsyncDisposableStack;

  private constructor(home: TestHome, server: ModelServer, client: ModelClient, resources: AsyncDisposableStack) {
    this.home = home;
    this.server = server;
    this.client = client;
    this.#resources = resources;
  }

  static async start({ toml, clock, ...options }: TestModelOptions): Promise<TestModel> {
    await using resources = new AsyncDisposableStack();
    const home = resources.use(await TestHome.make());
    const server = resources.use(
      await startModelServer({ ...options, listen: { kind: "unix", path: home.at("run/infer/infer.sock") } }),
    );
    const config = await home.config(toml ?? ONCE);
    const client = resources.use(openModel(config, { clock: clock ?? systemClock, random: () => 0.5 }));
    return new TestModel(home, server, client, resources.move());
  }

  async complete(
    options: { text?: string; slot?: number | null; signal?: AbortSignal; onEvent?: (event: ModelEvent) => void } = {},
  ): Promise<{ readonly result: CompletionResult; readonly events: readonly ModelEvent[] }> {
    const events: ModelEvent[] = [];
    const request: CompletionRequest = {
      messages: [JSON.stringify({ role: "user", content: options.text ?? "hi" })],
      tools: "[]",
      slot: options.slot === undefined ? 0 : options.slot,
    };
    const onEvent = (event: ModelEvent): void => {
      events.push(event);
      options.onEvent?.(event);
    };
    const result = await this.client.complete(request, onEvent, options.signal ?? new AbortController().signal);
    return { result, events };
  }

  /** The code of a completion that must fail. */
  async failure(options: Parameters<TestModel["complete"]>[0] = {}): Promise<string> {
    const { result } = await this.complete(options);
    if (result.kind === "completed") throw new Error("the completion was expected to fail");
    return result.error.code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources[Symbol.asyncDispose]();
  }
}
