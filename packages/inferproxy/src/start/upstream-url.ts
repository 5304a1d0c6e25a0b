/** Reads the inference server's address from the command line. */
import { isIP } from "node:net";

/** The one server that is dialled. */
export interface Upstream {
  /** As written to the log and the ready line: scheme, host and port. */
  readonly url: string;
  readonly transport: "tcp" | "tls";
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** What belongs into a request's `Host` header. */
  readonly authority: string;
}

/** Reads `http(s)://host[:port]`; undefined if `text` is anything else (a path, a query or a user name included). */
export function parseUpstreamUrl(text: string): Upstream | undefined {
  if (!/^https?:\/\/[^/?#@\\\s]+\/?$/u.test(text) || !URL.canParse(text)) {
    return undefined;
  }
  const url = new URL(text);
  const transport = url.protocol === "https:" ? "tls" : "tcp";
  const bracketed = /^\[(.*)\]$/u.exec(url.hostname)?.[1];
  const host = bracketed ?? url.hostname;
  if (host === "" || (bracketed !== undefined && isIP(bracketed) !== 6)) {
    return undefined;
  }
  const port = url.port === "" ? (transport === "tls" ? 443 : 80) : Number(url.port);
  if (port === 0) {
    return undefined;
  }
  return { url: url.origin, transport, host, port, authority: url.host };
}
