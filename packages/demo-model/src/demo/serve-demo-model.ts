/** Serves the demo model. */
import { reply } from "../answer/exchange.ts";
import { type ListenAddress, LlamaServer } from "../server/llama-server.ts";
import { demoReply } from "./demo-reply.ts";

/** Slots enough for a few sessions, with the usual size. */
const SLOTS = 4;
const CONTEXT_TOKENS = 32_768;

/** Serves the demo model until disposed of. `url` is `http://127.0.0.1:PORT`, or `unix:PATH`. */
export async function serveDemoModel(options: {
  readonly listen: ListenAddress;
}): Promise<AsyncDisposable & { readonly url: string }> {
  const server = new LlamaServer({
    listen: options.listen,
    modelName: "demo",
    slots: SLOTS,
    contextTokens: CONTEXT_TOKENS,
    apiKey: null,
    flavour: "llama-server",
    control: "ends-thought",
    cache: "per-slot",
    router: null,
    routes: () => undefined,
    probe: null,
    answer: ({ chat }) => reply(demoReply(chat)),
  });
  await server.listen();
  return server;
}
