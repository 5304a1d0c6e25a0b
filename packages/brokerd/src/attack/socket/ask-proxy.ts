/** Asks an egress proxy by its socket, as a program that has taken over a fetch's box could. */
import { connect } from "node:net";

/** What is asked for: a name, or an address as one (SOCKS5, RFC 1928). */
export type Destination =
  | { readonly kind: "name"; readonly name: string; readonly port: number }
  | { readonly kind: "address"; readonly bytes: readonly number[]; readonly port: number };

const DEADLINE_MS = 15_000;
const GREETING = [5, 1, 0];
const SUCCEEDED = 0;
const REPLY_AT = 3;
const TYPE_NAME = 3;
const TYPES: Readonly<Record<number, number>> = { 4: 1, 16: 4 };

function encode(destination: Destination): Buffer {
  const { port } = destination;
  const place =
    destination.kind === "name"
      ? [TYPE_NAME, destination.name.length, ...Buffer.from(destination.name)]
      : [TYPES[destination.bytes.length] ?? 1, ...destination.bytes];
  return Buffer.from([...GREETING, 5, 1, 0, ...place, port >> 8, port & 255]);
}

/** Whether the proxy opened a connection. Undefined where it can't be asked. Never rejects. */
export function askProxy(path: string, destination: Destination): Promise<boolean | undefined> {
  const { promise, resolve } = Promise.withResolvers<boolean | undefined>();
  const socket = connect({ path });
  const received: Buffer[] = [];
  const end = (isOpen: boolean | undefined): void => {
    socket.destroy();
    resolve(isOpen);
  };
  socket.setTimeout(DEADLINE_MS, () => end(undefined));
  socket.on("connect", () => void socket.write(encode(destination)));
  // It hangs up on what it can't read.
  socket.on("close", () => end(received.length > 0 ? false : undefined)).on("error", () => end(undefined));
  socket.on("data", (chunk: Buffer) => {
    received.push(chunk);
    const reply = Buffer.concat(received)[REPLY_AT];
    if (reply !== undefined) end(reply === SUCCEEDED);
  });
  return promise;
}
