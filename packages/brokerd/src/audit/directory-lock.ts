/**
 * One writer per audit log: a kernel lock on the directory itself, which ends with the process however it ends and can't be deleted,
 * go stale or be lost by closing another descriptor.
 */
import { spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync, statfsSync } from "node:fs";
import { quoteText } from "@boxmaker/proto";

/** Where flock(1) of util-linux lies on Debian, on merged and unmerged systems, and on NixOS. */
const PROGRAMS = ["/usr/bin/flock", "/bin/flock", "/run/current-system/sw/bin/flock"] as const;

const TIMEOUT_MS = 10_000;
const HELD_STATUS = 75;
const NFS_TYPE = 0x6969;

/** The lock, held until it is disposed of or the process ends; or why there is none. */
export type LockOutcome =
  | { readonly kind: "locked"; readonly lock: DirectoryLock }
  | { readonly kind: "held" }
  | { readonly kind: "refused"; readonly problem: string };

/** Holds the directory open, and with it the lock. */
export class DirectoryLock implements Disposable {
  /** The directory's descriptor, also good for fsync. */
  readonly descriptor: number;
  #open = true;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  [Symbol.dispose](): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.descriptor);
  }
}

/**
 * Locks a directory that exists, without waiting. The lock belongs to our open directory, which flock(1) is handed for a moment:
 * that the helper exits doesn't end it, and later children don't inherit it.
 *
 * @param programs where to look for flock(1)
 * @throws {Error} when the directory can't be opened as one; a symbolic link in its place isn't followed
 */
export function lockDirectory(directory: string, programs: readonly string[] = PROGRAMS): LockOutcome {
  const program = programs.find((path) => existsSync(path));
  if (program === undefined)
    return { kind: "refused", problem: `find no flock program at ${programs.join(" or ")}, expected util-linux` };
  if (statfsSync(directory).type === NFS_TYPE) {
    return { kind: "refused", problem: `cannot lock ${quoteText(directory)}: it is on NFS, expected a local file system` };
  }
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const lock = new DirectoryLock(descriptor);
  const run = spawnSync(program, ["-n", "-x", "-E", String(HELD_STATUS), "3"], {
    stdio: ["ignore", "ignore", "ignore", descriptor],
    env: {},
    timeout: TIMEOUT_MS,
  });
  if (run.status === 0) return { kind: "locked", lock };
  lock[Symbol.dispose]();
  if (run.status === HELD_STATUS) return { kind: "held" };
  const how = run.error?.message ?? (run.status === null ? `signal ${run.signal ?? "unknown"}` : `status ${run.status}`);
  return { kind: "refused", problem: `cannot lock ${quoteText(directory)}: ${program} ended with ${how}, expected status 0` };
}
