/** One trial in a home at a time: a name that the kernel holds for this process and frees with it, so that nothing is left to delete. */
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer } from "node:net";

/** The lock, held until it is disposed of or the process ends. `held`: another process has it. */
export type HomeLocking = { readonly kind: "locked"; readonly lock: AsyncDisposable } | { readonly kind: "held" };

/**
 * Locks a home that exists, by device and inode: two names of one folder are one home. It only spares the owner a confusing second start;
 * what keeps two brokerds off one log is brokerd's own lock.
 *
 * @throws {Error} when the folder isn't there
 */
export async function lockHome(home: string): Promise<HomeLocking> {
  const { dev, ino } = statSync(home);
  const server = createServer((socket) => socket.destroy());
  // An abstract address (unix(7)) has no file that could be left behind.
  server.listen(`\0boxmaker-home-${dev}-${ino}`);
  try {
    await once(server, "listening");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return { kind: "held" };
    throw error;
  }
  server.unref();
  const close = async (): Promise<void> => {
    server.close();
    await once(server, "close");
  };
  return { kind: "locked", lock: { [Symbol.asyncDispose]: close } };
}
