/** Listeners of the host that no box may reach, and that notice who does. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type ListenOptions, type Server, type Socket } from "node:net";
import type { FiringRange } from "./firing-range.ts";

export interface BaitSocket {
  /** Zero for one with a path. */
  readonly port: number;
  readonly isReached: () => boolean;
}

function portOf(server: Server): number {
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

/** Listens as long as the range is there, and tells a word to whoever connects. Undefined where this machine has no such address. */
export async function listen(range: FiringRange, address: ListenOptions): Promise<BaitSocket | undefined> {
  const sockets = new Set<Socket>();
  let reached = false;
  const server = createServer((socket) => {
    reached = true;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.end("reached");
  });
  server.listen(address);
  try {
    await once(server, "listening");
  } catch {
    // No such address, or one that isn't free.
    return undefined;
  }
  range.defer(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: portOf(server), isReached: () => reached };
}

/** The same for datagrams, without an answer. */
export async function listenForDatagrams(range: FiringRange): Promise<BaitSocket> {
  const socket = createSocket("udp4");
  let reached = false;
  socket.on("message", () => {
    reached = true;
  });
  socket.bind(0);
  await once(socket, "listening");
  range.defer(() => void socket.close());
  return { port: socket.address().port, isReached: () => reached };
}
