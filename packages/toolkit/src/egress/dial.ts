/** Opens a connection to an address that was judged. */
import { connect, type Socket } from "node:net";
import type { PublicAddress } from "./judge-address.ts";

/** A connection, or undefined where there is none by the time the signal aborts. Must not reject. */
export type Dial = (address: PublicAddress, port: number, signal: AbortSignal) => Promise<Socket | undefined>;

/** Dials the very address: nothing is looked up, and no other one is tried. */
export function dialDirectly({ address, family }: PublicAddress, port: number, signal: AbortSignal): Promise<Socket | undefined> {
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  if (signal.aborted) return Promise.resolve(undefined);
  const socket = connect({ host: address, port, family, autoSelectFamily: false, allowHalfOpen: true, noDelay: true });
  const fail = (): void => {
    socket.destroy();
    resolve(undefined);
  };
  signal.addEventListener("abort", fail, { once: true });
  socket.on("error", fail);
  socket.once("connect", () => {
    signal.removeEventListener("abort", fail);
    resolve(socket);
  });
  return promise;
}
