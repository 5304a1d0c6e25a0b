/** Makes sure that the socket's directory is the owner's alone and that nobody serves at its path already. */
import { constants } from "node:fs";
import { lstat, mkdir, open, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { quoteText } from "@boxmaker/proto";
import { errorCode } from "../error-code.ts";
import type { StartRefusal } from "../start/refusal.ts";

const STICKY = 0o1000;

/** A directory that could be prepared and a path that is free, or why not. */
export type Claim = { readonly kind: "claimed" } | { readonly kind: "refused"; readonly refusal: StartRefusal };

/**
 * Prepares to bind a socket at the absolute `path`: makes its directory or takes the one it finds, in either case as 0700,
 * and removes a socket that is left there if nothing answers on it.
 */
export async function claimSocketPath(path: string): Promise<Claim> {
  const directory = await claimDirectory(dirname(path));
  return directory.kind === "refused" ? directory : claimName(path);
}

async function claimDirectory(path: string): Promise<Claim> {
  const refused = (why: string): Claim => refusedBecause(`socket directory ${quoteText(path)} ${why}`);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    // Opened without following a link, and checked and changed through the descriptor: the name can't be swapped in between.
    await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    const stat = await directory.stat();
    if (stat.uid !== process.getuid?.()) {
      return refused("belongs to another user: use one of this user's own");
    }
    if ((stat.mode & STICKY) !== 0) {
      return refused("is shared by several users: use one for this socket alone");
    }
    await directory.chmod(0o700);
    return { kind: "claimed" };
  } catch (error) {
    // Without a directory of its own the program doesn't start.
    const code = errorCode(error);
    return refused(
      code === "ENOTDIR" || code === "ELOOP" || code === "EEXIST"
        ? "is a link or no directory: name a real directory"
        : `cannot be prepared (${code})`,
    );
  }
}

async function claimName(path: string): Promise<Claim> {
  try {
    if (!(await lstat(path)).isSocket()) {
      return refusedBecause(`${quoteText(path)} exists and is no socket: remove it or name another path`);
    }
    if (await answers(path)) {
      return { kind: "refused", refusal: inUse(path) };
    }
    await unlink(path);
  } catch (error) {
    // A name that isn't there is free; any other doubt about what holds it leaves it alone.
    if (errorCode(error) !== "ENOENT") {
      return refusedBecause(`${quoteText(path)} cannot be looked at (${errorCode(error)})`);
    }
  }
  return { kind: "claimed" };
}

/** Tells whether something takes connections at `path`. A Unix socket answers a connection at once, so there is no deadline. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = connect({ path });
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", (error) => {
      if (errorCode(error) === "ECONNREFUSED") {
        resolve(false);
      } else if (errorCode(error) === "EAGAIN") {
        // Somebody listens there and doesn't keep up.
        resolve(true);
      } else {
        reject(error);
      }
    });
  });
}

/** The refusal for a path at which somebody serves already. */
export function inUse(path: string): StartRefusal {
  return {
    message: `a program already answers on ${quoteText(path)}: stop it or name another path`,
    runbook: "docs/runbook.md#inferproxy-socket-in-use",
  };
}

function refusedBecause(message: string): Claim {
  return { kind: "refused", refusal: { message, runbook: "docs/runbook.md#inferproxy-socket" } };
}
