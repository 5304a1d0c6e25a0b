/** A TCP server on loopback, closed with everything that is open on it. */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

export interface LoopbackServer extends AsyncDisposable {
  readonly port: number;
  /** Connections so far, in order. */
  readonly sockets: readonly Socket[];
}

/** Serves with `onConnection`. Half-closed connections stay open. */
export function listenLoopback(onConnection: (socket: Socket) => void): Promise<LoopbackServer> {
  return listenWith(createServer({ allowHalfOpen: true }, onConnection));
}

/** As {@link listenLoopback}, with a server that is there already: one of HTTP or TLS. */
export async function listenWith(server: Server): Promise<LoopbackServer> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => {
    socket.on("error", () => undefined);
    sockets.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return {
    port: address.port,
    sockets,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
