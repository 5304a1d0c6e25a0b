/** Joins two connections: bytes both ways, each end passed on by itself, no more in memory than a socket's buffer each way. */
import type { Socket } from "node:net";

/** Returns at once. Both are destroyed when either fails, or has failed already, or when nothing has moved for `idleMs`. */
export function joinSockets(client: Socket, upstream: Socket, idleMs: number): void {
  if (client.destroyed || upstream.destroyed) {
    client.destroy();
    upstream.destroy();
    return;
  }
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    socket.on("error", () => other.destroy());
    socket.setTimeout(idleMs, () => {
      socket.destroy();
      other.destroy();
    });
    socket.pipe(other);
  }
}
