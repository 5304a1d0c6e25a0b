/** What loopd's log says: one function per event. */
import type { Log } from "@boxmaker/edge/log";
import type { ErrorCode, Origin, SessionId } from "@boxmaker/proto";
import type { ToolPortRequest } from "./turn/tool-port.ts";

export class Events {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  turnStarted(session: SessionId, origin: Origin): void {
    this.#log.info("turn-started", { session, origin });
  }

  turnEnded(session: SessionId, outcome: "answered" | "compacted" | ErrorCode, detail: string): void {
    this.#log.info("turn-ended", { session, outcome, ...(detail === "" ? {} : { detail }) });
  }

  noRoom(session: SessionId, why: string): void {
    this.#log.warn("no-summary", { session, why });
  }

  callFailed({ session, call, tool }: ToolPortRequest, why: string): void {
    this.#log.warn("call-failed", { session, call, tool, why });
  }

  requestFault(socket: string, fault: string, detail: string): void {
    this.#log.warn("request-unreadable", { socket, fault, detail });
  }

  forbidden(socket: string, kind: string): void {
    this.#log.warn("request-forbidden", { socket, kind });
  }

  clientDropped(session: SessionId, why: string): void {
    this.#log.info("client-dropped", { session, why });
  }

  connectionRefused(socket: string): void {
    this.#log.warn("connection-refused", { socket, why: "too many connections" });
  }

  listenerTrouble(socket: string, why: string): void {
    this.#log.error("listener-trouble", { socket, why });
  }

  stopping(turns: number): void {
    this.#log.info("stopping", { turns });
  }

  bug(where: string, error: unknown): void {
    this.#log.error("bug", { where, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}
