/** A whole loopd in this process, with a scripted model and, where wanted, a scripted broker. */
import { readFile } from "node:fs/promises";
import { type ModelServer, type ModelServerOptions, startModelServer } from "@boxmaker/demo-model";
import { type Clock, openLog, systemClock } from "@boxmaker/edge/log";
import type { SessionRecord } from "@boxmaker/proto";
import { type Loop, serve } from "../../src/serve.ts";
import { TestHome } from "./home.ts";
import { LoopClient } from "./loop-client.ts";
import { type AnswerCall, type ScriptedBroker, startBroker } from "./scripted-broker.ts";

export interface TestLoopOptions {
  readonly model: Omit<ModelServerOptions, "listen">;
  readonly broker?: AnswerCall;
  readonly toml?: string;
  readonly clock?: Clock;
}

/** Quick polls, so that a test of waiting doesn't wait. */
const QUICK = "\n[infer]\npoll_ms = 20\n";

export class TestLoop implements AsyncDisposable {
  readonly home: TestHome;
  readonly model: ModelServer;
  readonly log: string[] = [];
  readonly client: LoopClient;
  readonly gateway: LoopClient;
  readonly #resources: AsyncDisposableStack;
  readonly #broker: ScriptedBroker | undefined;
  readonly #options: TestLoopOptions;
  #loop: Loop | undefined;

  private constructor(
    home: TestHome,
    model: ModelServer,
    broker: ScriptedBroker | undefined,
    options: TestLoopOptions,
    resources: AsyncDisposableStack,
  ) {
    this.home = home;
    this.model = model;
    this.#broker = broker;
    this.#options = options;
    this.#resources = resources;
    this.client = new LoopClient(home.at("run/loop/loop.sock"));
    this.gateway = new LoopClient(home.at("run/loop-gateway/loop.sock"));
  }

  static async start(options: TestLoopOptions): Promise<TestLoop> {
    await using resources = new AsyncDisposableStack();
    const home = resources.use(await TestHome.make());
    const listen = { kind: "unix", path: home.at("run/infer/infer.sock") } as const;
    const model = resources.use(await startModelServer({ ...options.model, listen }));
    const brokerPath = home.at("run/broker/broker.sock");
    const broker = options.broker === undefined ? undefined : resources.use(await startBroker(brokerPath, options.broker));
    const loop = new TestLoop(home, model, broker, options, resources.move());
    await loop.restart();
    return loop;
  }

  get broker(): ScriptedBroker {
    if (this.#broker === undefined) throw new Error("the test has no broker");
    return this.#broker;
  }

  get notices(): readonly string[] {
    return this.#loop?.notices ?? [];
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
    this.#loop = undefined;
  }

  /** Stops loopd, if it runs, and starts it anew on the same home. */
  async restart(): Promise<void> {
    await this.stop();
    const brokerLine = this.#broker === undefined ? "" : 'broker = "../run/broker/broker.sock"\n';
    const sockets = `[sockets]\nloop_gateway = "../run/loop-gateway/loop.sock"\n${brokerLine}`;
    const config = await this.home.config(`${sockets}${this.#options.toml ?? QUICK}`);
    const clock = this.#options.clock ?? systemClock;
    const log = openLog((line) => this.log.push(line), clock.now);
    const serving = await serve(config, { clock, log, random: () => 0.5 });
    if (serving.kind === "refused") throw new Error(serving.problem);
    this.#loop = serving.loop;
  }

  /** The records of a session, as they are on disk. */
  async records(session: string, epoch = 0): Promise<readonly SessionRecord[]> {
    const text = await readFile(this.home.at(`sessions/${session}/${epoch}.jsonl`), "utf8");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as SessionRecord);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#resources[Symbol.asyncDispose]();
  }
}
