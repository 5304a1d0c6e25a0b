/** Opens the one connection that this program may open: to the inference server that the owner named. */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { unreachable } from "@boxmaker/proto";
import type { Upstream } from "../start/upstream-url.ts";

/** A connection that is being made, and the event that says that it is. */
export interface Dialled {
  readonly socket: Socket;
  readonly readyEvent: "connect" | "secureConnect";
}

/**
 * Starts a connection to `upstream`; with TLS where its address says https, trusting `ca` (PEM) or else the built-in roots.
 *
 * Its end is not answered by ours, so that a client may stop sending while the answer flows.
 */
export function dialUpstream(upstream: Upstream, ca: string | null): Dialled {
  const { host, port } = upstream;
  switch (upstream.transport) {
    case "tcp":
      return { socket: connect({ host, port, allowHalfOpen: true, noDelay: true }), readyEvent: "connect" };
    case "tls": {
      const options = {
        host,
        port,
        allowHalfOpen: true,
        ALPNProtocols: ["http/1.1"],
        // Said outright, because an environment variable could turn the check off otherwise.
        rejectUnauthorized: true,
        minVersion: "TLSv1.2" as const,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(ca === null ? {} : { ca }),
      };
      const socket = connectTls(options);
      socket.setNoDelay(true);
      return { socket, readyEvent: "secureConnect" };
    }
    default:
      return unreachable(upstream.transport);
  }
}
