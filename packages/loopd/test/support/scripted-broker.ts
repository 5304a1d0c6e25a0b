/** A brokerd that answers as a test says, over the real protocol. */
import { listenUnix, type Reply, serveConnection } from "@boxmaker/edge/socket";
import { BrokerAnswer, BrokerRequest } from "@boxmaker/proto";

export type ToolRequestBody = BrokerRequest["body"];
export type AnswerCall = (request: ToolRequestBody, reply: Reply<BrokerAnswer>, signal: AbortSignal) => Promise<void>;

export interface ScriptedBroker extends AsyncDisposable {
  /** The requests so far, in order. */
  readonly requests: readonly ToolRequestBody[];
  /** Resolves when `count` requests have come. */
  received(count: number): Promise<ToolRequestBody>;
}

/** The usual result. */
export function result(content: string, more: { class?: "public" | "private" | "secret"; untrusted?: boolean } = {}): BrokerAnswer {
  const body = {
    outcome: "result",
    content,
    class: more.class ?? "public",
    untrusted: more.untrusted ?? false,
    truncated: false,
  } as const;
  return { kind: "tool_response", body };
}

export async function startBroker(path: string, answer: AnswerCall): Promise<ScriptedBroker> {
  const requests: ToolRequestBody[] = [];
  const waiting = new Map<number, (request: ToolRequestBody) => void>();
  const faults: unknown[] = [];
  const listening = await listenUnix({
    path,
    maxConnections: 100,
    onConnection: (socket) => {
      serveConnection(socket, {
        requests: BrokerRequest,
        answers: BrokerAnswer,
        readDeadlineMs: 10_000,
        writeDeadlineMs: 10_000,
        handle: async ({ message }, reply, signal) => {
          requests.push(message.body);
          waiting.get(requests.length)?.(message.body);
          await answer(message.body, reply, signal);
        },
        onFault: (_fault, detail) => faults.push(new Error(detail)),
        onBug: (error) => faults.push(error),
      }).catch((error: unknown) => faults.push(error));
    },
  });
  if (listening.kind === "refused") throw new Error(listening.problem);
  return {
    requests,
    received: async (count) => {
      const there = requests[count - 1];
      return there ?? (await new Promise<ToolRequestBody>((resolve) => waiting.set(count, resolve)));
    },
    [Symbol.asyncDispose]: async () => {
      await listening.server[Symbol.asyncDispose]();
      if (faults.length > 0) throw new AggregateError(faults, "the scripted broker");
    },
  };
}
