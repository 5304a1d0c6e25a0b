/** The tests' model server: every answer is scripted, every request is kept. */
import { type Exchange, reply } from "../answer/exchange.ts";
import type { Flavour } from "../answer/play.ts";
import type { CacheBehaviour } from "../slots/slots.ts";
import type { CannedRoutes } from "./canned.ts";
import { type ControlBehaviour, type ListenAddress, LlamaServer } from "./llama-server.ts";
import type { ControlRequest, RecordedRequest, Violation } from "./requests.ts";
import type { RouterState } from "./router.ts";

/** The answers in order, or a function that decides each; a request beyond the list is a violation and gets a 500. */
export type Script = readonly Exchange[] | ((request: RecordedRequest) => Exchange | Promise<Exchange>);

/** A server for one test. Everything but `script` has a default. */
export interface ModelServerOptions {
  readonly script: Script;
  /** Default: any free loopback port. A path of a Unix socket must end in `.sock` and be free. */
  readonly listen?: ListenAddress;
  readonly modelName?: string;
  /** Default: 1. */
  readonly slots?: number;
  /** Tokens of one slot; default: 16384. */
  readonly contextTokens?: number;
  readonly apiKey?: string;
  /** `openai` has no slots, props, tokenizer, timings and progress. Default: `llama-server`. */
  readonly flavour?: Flavour;
  /** Default: `ends-thought`. */
  readonly control?: ControlBehaviour;
  /** Default: `per-slot`, the one that loses nothing. */
  readonly cache?: CacheBehaviour;
  /** Puts a llama-server's router before the one model. Default: none. */
  readonly router?: RouterState;
  /** Answers of another server, or hostile ones, to any request but one for a completion. Default: none. */
  readonly routes?: CannedRoutes;
  /** What a request for a single token is answered. Default: one word, beside the script and not in `requests`; null leaves it to the script. */
  readonly probe?: Exchange | null;
}

/** A running server of a test. Disposing of it closes every connection, and throws if the script threw. */
export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, or `unix:PATH`. */
  readonly url: string;
  /** The requests for completions so far. */
  readonly requests: readonly RecordedRequest[];
  /** The requests for the end of a thought so far. */
  readonly controls: readonly ControlRequest[];
  /** Every request so far, as `METHOD /path?query`. */
  readonly seen: readonly string[];
  /** What a client must never do; assert that it is empty. */
  readonly violations: readonly Violation[];
  /** The request for a completion number `count`, counted from 1, now or when it has come. */
  received(count: number): Promise<RecordedRequest>;
  /** Resolves when `count` requests of any kind have come. */
  sawRequests(count: number): Promise<void>;
  /** The request to end a thought number `count`, counted from 1, now or when it has come. */
  controlled(count: number): Promise<ControlRequest>;
  /** While `loading`, every route answers 503. */
  setLoading(loading: boolean): void;
  /** Empties a slot's cache, as another conversation on it would. */
  forgetSlot(slot: number): void;
}

/** Starts a server that answers as scripted. */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const { script } = options;
  const server = new LlamaServer({
    listen: options.listen ?? { kind: "tcp", port: 0 },
    modelName: options.modelName ?? "scripted",
    slots: options.slots ?? 1,
    contextTokens: options.contextTokens ?? 16_384,
    apiKey: options.apiKey ?? null,
    flavour: options.flavour ?? "llama-server",
    control: options.control ?? "ends-thought",
    cache: options.cache ?? "per-slot",
    router: options.router ?? null,
    routes: options.routes ?? (() => undefined),
    probe: options.probe === undefined ? reply({ content: "yes", finish: "length" }) : options.probe,
    answer: (request) => (typeof script === "function" ? script(request) : script[request.index]),
  });
  await server.listen();
  const url = server.url;
  return {
    url,
    get requests() {
      return server.requests.entries;
    },
    get controls() {
      return server.controls.entries;
    },
    get seen() {
      return server.seen.entries;
    },
    get violations() {
      return server.violations;
    },
    received: (count) => server.requests.nth(count),
    sawRequests: async (count) => {
      await server.seen.nth(count);
    },
    controlled: (count) => server.controls.nth(count),
    setLoading: (loading) => {
      server.loading = loading;
    },
    forgetSlot: (slot) => server.slots.forget(slot),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
