/** A model server that does nothing but stream: one event a millisecond, each with the time of its sending, or as many as fit at once. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** How a stream comes: `paced` is one event a millisecond. */
export type Pace = "paced" | "burst";

/** What a request asks for, in the place of its model's name. */
export function wishOf(pace: Pace, events: number): string {
  return `${pace}:${events}`;
}

const EVENT_AT_ONCE = 64;

function event(delta: object, finish: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, finish_reason: finish, delta }], id: "chatcmpl-bench" })}\n\n`;
}

/** One piece of the reply: the time of its sending, on the clock that all processes of a machine share. */
function stamped(): string {
  return event({ content: `@${process.hrtime.bigint()}@ ` });
}

async function answer(body: string, response: ServerResponse): Promise<void> {
  const [, pace, count] = /"model":"(paced|burst):([0-9]+)"/u.exec(body) ?? [];
  response.writeHead(200, { "content-type": "text/event-stream" });
  const events = Number(count);
  if (pace === "paced") {
    for (let sent = 0; sent < events; sent++) {
      response.write(stamped());
      await sleep(1);
    }
  } else {
    for (let sent = 0; sent < events; sent += EVENT_AT_ONCE) {
      const piece = Array.from({ length: Math.min(EVENT_AT_ONCE, events - sent) }, stamped).join("");
      if (!response.write(piece)) await once(response, "drain");
    }
  }
  response.end(`${event({}, "stop")}data: [DONE]\n\n`);
}

/** A server of the bench. Disposing of it closes every connection. */
export class StreamServer implements AsyncDisposable {
  readonly #server: Server = createServer((request, response) => {
    text(request)
      .then((body) => answer(body, response))
      // A client that has gone has its figure already, or none.
      .catch(() => response.destroy());
  });

  /** @param place a path of a Unix socket, or 0 for any free loopback port */
  static async listen(place: string | 0): Promise<StreamServer> {
    const server = new StreamServer();
    server.#server.listen(place === 0 ? { host: "127.0.0.1", port: 0 } : { path: place });
    await once(server.#server, "listening");
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("expected a server with a port");
    return address.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
