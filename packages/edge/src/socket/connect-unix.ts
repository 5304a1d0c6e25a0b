/** Reaching a peer on a Unix socket. */
import { createConnection, type Socket } from "node:net";
import { quoteText } from "@boxmaker/proto";

/** `absent`: no such socket; `refused`: nothing serves on it, or we may not; `timeout`: the signal aborted first. */
export type ConnectFailure = "absent" | "refused" | "timeout";

export class ConnectError extends Error {
  override readonly name = "ConnectError";
  readonly code: ConnectFailure;

  constructor(code: ConnectFailure, path: string, cause: unknown) {
    super(`can't connect to socket ${quoteText(path)}: ${code}`, { cause });
    this.code = code;
  }
}

function classify(error: Error): ConnectFailure {
  return "code" in error && error.code === "ENOENT" ? "absent" : "refused";
}

/**
 * Connects to a Unix socket. The connection allows half-open streams and never raises an unhandled error.
 *
 * @param options.signal bounds connecting only
 * @throws {ConnectError} when there is no connection
 */
export function connectUnix(path: string, options: { readonly signal: AbortSignal }): Promise<Socket> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new ConnectError("timeout", path, signal.reason));
      return;
    }
    const socket = createConnection({ path, allowHalfOpen: true });
    const onAbort = (): void => {
      socket.destroy();
      reject(new ConnectError("timeout", path, signal.reason));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => {
      signal.removeEventListener("abort", onAbort);
      resolve(socket);
    });
    socket.on("error", (error) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      reject(new ConnectError(classify(error), path, error));
    });
  });
}
