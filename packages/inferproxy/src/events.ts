/** What the program logs: one helper per event, one line each, nothing of what is forwarded. */
import type { Log } from "@boxmaker/edge/log";

/** The program's events. `connection` counts the connections that were taken since the start. */
export class Events {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** A connection was refused by a limit; only the first of several in a row is told. */
  connectionRefused(reason: "rate" | "connections"): void {
    this.#log.warn("connection-refused", { reason, see: "docs/runbook.md#inferproxy-limits" });
  }

  /** The inference server could not be reached; the client was closed. */
  upstreamAway(connection: number, upstream: string, error: string): void {
    this.#log.warn("upstream-away", { connection, upstream, error, see: "docs/runbook.md#inferproxy-upstream-away" });
  }

  /** The inference server's connection broke after it had been made; the client was closed. */
  upstreamBroke(connection: number, error: string): void {
    this.#log.warn("upstream-broke", { connection, error, see: "docs/runbook.md#inferproxy-upstream-away" });
  }

  /** A request could not be read, so no key was added and nothing of it was forwarded; the client was closed. */
  requestRefused(connection: number, reason: string): void {
    this.#log.warn("request-refused", { connection, reason, see: "docs/runbook.md#inferproxy-request-refused" });
  }

  /** The socket on which clients are taken had an error and goes on. */
  listenerError(error: string): void {
    this.#log.error("listener-error", { error, see: "docs/runbook.md#inferproxy-socket" });
  }

  /** The program stops because it was told to. */
  stopping(signal: string): void {
    this.#log.info("stopping", { signal });
  }
}
