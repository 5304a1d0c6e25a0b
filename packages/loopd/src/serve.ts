/** loopd from its configuration to its last record: the order of start and stop. */
import type { Clock, Log } from "@boxmaker/edge/log";
import { SessionError } from "@boxmaker/edge/session-files";
import type { UnixServer } from "@boxmaker/edge/socket";
import type { SessionId } from "@boxmaker/proto";
import { Conversation } from "./channel/conversation.ts";
import { serveLoopSocket } from "./channel/loop-socket.ts";
import { RunningTurns } from "./channel/running-turns.ts";
import type { Config } from "./config/config.ts";
import { Events } from "./events.ts";
import { ModelClient } from "./model/model-client.ts";
import { SessionStore } from "./session/session-store.ts";
import { BrokerClient } from "./turn/broker-client.ts";
import type { ModelPort } from "./turn/model-port.ts";
import { NO_BROKER, type ToolPort } from "./turn/tool-port.ts";

export interface ServeDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** In 0..1. */
  readonly random: () => number;
}

/** A running loopd. */
export interface Loop {
  /** Rejects when a listener has ended by itself; never resolves before {@link Loop.stop}. */
  readonly failed: Promise<void>;
  /** One line each, for the owner. */
  readonly notices: readonly string[];
  /** Stops accepting, cancels the turns, waits for them within the grace. */
  stop(): Promise<void>;
}

/** `problem` is one printable line that ends with a runbook pointer. */
export type Serving = { readonly kind: "serving"; readonly loop: Loop } | { readonly kind: "refused"; readonly problem: string };

const NO_BROKER_NOTICE = "no sockets.broker in the config: every tool call will fail; see docs/runbook.md#no-broker";

/** The client of the model server that the config names. */
export function openModel(config: Config, { clock, random }: Pick<ServeDependencies, "clock" | "random">): ModelClient {
  const { model, infer, sampling, limits } = config;
  const settings = {
    model,
    infer,
    sampling,
    thinkingCap: limits.thinking_cap,
    thinkingOverrun: limits.thinking_overrun,
    replyBytes: limits.reply_bytes,
  };
  return new ModelClient(config.sockets.infer, settings, { clock, random });
}

function modelPort(model: ModelClient): ModelPort {
  return {
    complete: (request, onEvent, signal) => model.complete(request, onEvent, signal),
    contextTokens: async (signal) => {
      try {
        const info = await model.server.info(signal);
        return info.kind === "llama-server" ? info.context : null;
      } catch {
        // Whatever keeps the server from saying, the request itself meets it and says so.
        return null;
      }
    },
  };
}

/** Starts loopd. What was started is undone where a later step is refused. */
export async function serve(config: Config, dependencies: ServeDependencies): Promise<Serving> {
  const { clock, log } = dependencies;
  const events = new Events(log);
  await using resources = new AsyncDisposableStack();
  const model = resources.use(openModel(config, dependencies));
  const { broker } = config.sockets;
  const port: ToolPort =
    broker === null
      ? NO_BROKER
      : new BrokerClient({
          socketPath: broker,
          timeoutMs: config.broker.timeout_ms,
          clock,
          onFailure: (request, why) => events.callFailed(request, why),
        });
  const store = new SessionStore(config.sessionsDirectory, clock);
  const running = new RunningTurns(config.loop.turns);
  const onNoRoom = (session: SessionId, why: string): void => events.noRoom(session, why);
  const conversation = new Conversation({ config, store, model: modelPort(model), port, clock, onNoRoom });
  const shared = { limits: config.loop, conversation, running, store, events };

  const servers: UnixServer[] = [];
  const { loop, gateway } = config.sockets;
  const sockets = [
    { path: loop, origin: "terminal" as const },
    ...(gateway === null ? [] : [{ path: gateway, origin: "gateway" as const }]),
  ];
  for (const socket of sockets) {
    const listening = await serveLoopSocket({ ...shared, ...socket });
    if (listening.kind === "refused")
      return { kind: "refused", problem: `${listening.problem}; see docs/runbook.md#socket-refused` };
    servers.push(resources.use(listening.server));
  }
  try {
    // After the socket: only one loopd has it, so that what is half made isn't another one's.
    await store.prepare();
  } catch (error) {
    if (!(error instanceof SessionError)) throw error;
    return { kind: "refused", problem: error.message };
  }
  const owned = resources.move();
  const stop = async (): Promise<void> => {
    events.stopping(running.size);
    for (const server of servers) await server[Symbol.asyncDispose]();
    const grace = new AbortController();
    await Promise.race([running.stop(), clock.sleep(config.loop.stop_grace_ms, grace.signal).catch(() => undefined)]);
    grace.abort();
    await owned.disposeAsync();
  };
  return {
    kind: "serving",
    loop: {
      failed: Promise.race(servers.map(({ closed }) => closed)),
      notices: broker === null ? [NO_BROKER_NOTICE] : [],
      stop,
    },
  };
}
