/** Serving on a Unix socket that only its owner can reach. */
import { chmod, lstat, mkdir, readdir, unlink } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { quoteText } from "@boxmaker/proto";
import { ConnectError, connectUnix } from "./connect-unix.ts";

/** Longest socket path that the kernel takes, in bytes (`sun_path` without its NUL, unix(7)). */
export const MAX_SOCKET_PATH = 107;

const PROBE_MS = 2000;
/** Connections that wait until the process comes round to them; past it a client can't connect at all. The kernel's own limit may be lower. */
const BACKLOG = 4096;

/** A socket that is being served. Disposing stops accepting and removes the socket file; open connections are the caller's. */
export interface UnixServer extends AsyncDisposable {
  readonly path: string;
  /** Resolves when the listener has ended; rejects when it ended by itself. */
  readonly closed: Promise<void>;
}

/** `problem` is one printable line without a runbook pointer: the caller knows which entry is its own. */
export type Listening =
  | { readonly kind: "listening"; readonly server: UnixServer }
  | { readonly kind: "refused"; readonly problem: string };

export interface ListenOptions {
  readonly path: string;
  /** Called for each connection below the limit. Must not throw. */
  readonly onConnection: (socket: Socket) => void;
  /** Connections open at once; one more is closed unanswered, after {@link ListenOptions.onRefused}. */
  readonly maxConnections: number;
  /** Called for a connection over the limit, which is closed right after what this has written. */
  readonly onRefused?: (socket: Socket) => void;
  /** Called with each error of the listener that doesn't end it (no descriptor left). */
  readonly onError?: (error: Error) => void;
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}

async function holdsMoreThanSockets(directory: string): Promise<boolean> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.some((entry) => !entry.isSocket());
}

/** Makes the socket's directory, or makes sure that the one found is a real directory of ours that nobody else can enter. */
async function prepareDirectory(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const found = await lstat(directory);
    if (!found.isDirectory()) return "its directory is a symlink or no directory";
    if (found.uid !== process.getuid?.()) return "its directory belongs to another user";
    if ((found.mode & 0o1022) !== 0) return "its directory is shared with others";
    // A home directory, say: what others may read in it isn't ours to take away.
    if ((found.mode & 0o077) !== 0 && (await holdsMoreThanSockets(directory)))
      return "its directory is open to others and holds other things";
    await chmod(directory, 0o700);
    return undefined;
  } catch (error) {
    // Whatever is wrong with the directory, nothing is served from it.
    return `its directory can't be prepared (${codeOf(error)})`;
  }
}

/** Removes a socket file that nothing answers on. Anything else at that place is left alone and refused. */
async function removeStale(path: string): Promise<string | undefined> {
  try {
    const found = await lstat(path);
    if (!found.isSocket()) return "something that is no socket is at its place";
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    return `it can't be looked at (${codeOf(error)})`;
  }
  try {
    const peer = await connectUnix(path, { signal: AbortSignal.timeout(PROBE_MS) });
    peer.destroy();
    return "something answers on it already";
  } catch (error) {
    // Any other refusal may come from something alive: a queue that is full (EAGAIN), a socket that we may not use, one of another kind.
    if (!(error instanceof ConnectError) || !isErrno(error.cause, "ECONNREFUSED")) return "something may be serving on it already";
  }
  await unlink(path);
  return undefined;
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog: BACKLOG }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/**
 * Listens on `path`: directory 0700 whether made or found, socket 0600, a stale socket removed only if nothing answers on it.
 * Refuses a directory that is a symlink, somebody else's, or shared with others or with other things; never changes the mode of such a one.
 */
export async function listenUnix(options: ListenOptions): Promise<Listening> {
  const { path } = options;
  const refuse = (why: string): Listening => ({ kind: "refused", problem: `can't serve on socket ${quoteText(path)}: ${why}` });
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) return refuse(`its path is longer than ${MAX_SOCKET_PATH} bytes`);
  const problem = (await prepareDirectory(dirname(path))) ?? (await removeStale(path).catch((error: unknown) => codeOf(error)));
  if (problem !== undefined) return refuse(problem);

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: false });
  let open = 0;
  server.on("connection", (socket) => {
    // An error with no listener would end the process; the stream's owner sees it as a close.
    socket.on("error", () => socket.destroy());
    if (open >= options.maxConnections) {
      options.onRefused?.(socket);
      socket.destroySoon();
      return;
    }
    open++;
    socket.once("close", () => {
      open--;
    });
    options.onConnection(socket);
  });
  try {
    await bind(server, path);
    await chmod(path, 0o600);
  } catch (error) {
    server.close();
    return refuse(codeOf(error));
  }
  return { kind: "listening", server: own(server, path, options) };
}

function own(server: Server, path: string, options: ListenOptions): UnixServer {
  const { promise: closed, resolve, reject } = Promise.withResolvers<void>();
  let stopping = false;
  server.on("error", (error) => options.onError?.(error));
  server.once("close", () => {
    if (stopping) resolve();
    else reject(new Error(`the listener on ${quoteText(path)} ended by itself`));
  });
  // Nobody may be waiting when it ends.
  closed.catch(() => undefined);
  return {
    path,
    closed,
    [Symbol.asyncDispose]: async () => {
      stopping = true;
      // Node removes the socket file when it closes; it waits for open connections, which aren't ours to end.
      server.close();
      await unlink(path).catch(() => undefined);
    },
  };
}
