/** What the program logs: one helper per event, one line each, nothing of what is forwarded. */
import { escapeText, quoteText } from "@boxmaker/proto";

/** The program's events. `connection` counts the connections that were taken since the start. */
export interface Events {
  /** A connection was refused by a limit; only the first of several in a row is told. */
  connectionRefused(reason: "rate" | "connections"): void;
  /** The inference server could not be reached; the client was closed. */
  upstreamAway(connection: number, upstream: string, error: string): void;
  /** The inference server's connection broke after it had been made; the client was closed. */
  upstreamBroke(connection: number, error: string): void;
  /** A request could not be read, so no key was added and nothing of it was forwarded; the client was closed. */
  requestRefused(connection: number, reason: string): void;
  /** The socket on which clients are taken failed. */
  listenerFailed(error: string): void;
  /** The program stops because it was told to. */
  stopping(signal: string): void;
}

type Level = "info" | "warn" | "error";

/** Makes the events' lines; `write` takes one line without its end, `time` gives the moment in RFC 3339. */
export function createEvents(write: (line: string) => void, time: () => string): Events {
  const log = (level: Level, event: string, values: Readonly<Record<string, string | number>>, runbook?: string): void => {
    const pairs = Object.entries(values).map(([key, value]) => ` ${key}=${formatValue(value)}`);
    write(`${time()} ${level} ${event}${pairs.join("")}${runbook === undefined ? "" : ` see ${runbook}`}`);
  };
  return {
    connectionRefused: (reason) => log("warn", "connection-refused", { reason }, "docs/runbook.md#inferproxy-limits"),
    upstreamAway: (connection, upstream, error) =>
      log("warn", "upstream-away", { connection, upstream, error }, "docs/runbook.md#inferproxy-upstream-away"),
    upstreamBroke: (connection, error) =>
      log("warn", "upstream-broke", { connection, error }, "docs/runbook.md#inferproxy-upstream-away"),
    requestRefused: (connection, reason) =>
      log("warn", "request-refused", { connection, reason }, "docs/runbook.md#inferproxy-request-refused"),
    listenerFailed: (error) => log("error", "listener-failed", { error }, "docs/runbook.md#inferproxy-socket"),
    stopping: (signal) => log("info", "stopping", { signal }),
  };
}

function formatValue(value: string | number): string {
  const text = escapeText(String(value));
  return /^[\w.:/[\]-]+$/u.test(text) ? text : quoteText(String(value));
}
