/** What is at a path on the host, exactly: so that what gets mounted is what was decided about. */
import { type BigIntStats, lstatSync, realpathSync } from "node:fs";
import { type AbsPath, quoteText } from "@boxmaker/proto";

/** A file or directory by its identity, or why the path can't be mounted. */
export type MountSource =
  | { readonly kind: "file" | "directory"; readonly device: bigint; readonly inode: bigint }
  | { readonly kind: "unusable"; readonly problem: string };

function unusable(path: AbsPath, problem: string): MountSource {
  return { kind: "unusable", problem: `${quoteText(path)} ${problem}` };
}

/** Looks at a path now. A symbolic link in any component makes it unusable: what it leads to could be swapped. */
export function lookAt(path: AbsPath): MountSource {
  let stats: BigIntStats;
  let real: string;
  try {
    real = realpathSync.native(path);
    stats = lstatSync(path, { bigint: true });
  } catch (error) {
    // Whatever the reason, it can't be mounted, and the reason is said.
    return unusable(path, `can't be found (${error instanceof Error && "code" in error ? String(error.code) : "unknown error"})`);
  }
  if (real !== path) return unusable(path, "leads through a symbolic link");
  if (!stats.isFile() && !stats.isDirectory()) return unusable(path, "is neither a file nor a directory");
  return { kind: stats.isFile() ? "file" : "directory", device: stats.dev, inode: stats.ino };
}

/** The identity as a box is told it; of what can't be mounted, one that nothing has. */
export function sourceIdentity(source: MountSource): string {
  return source.kind === "unusable" ? "0:0" : `${source.device}:${source.inode}`;
}

/** Whether both are the same file or directory of the host. */
export function isSameSource(a: MountSource, b: MountSource): boolean {
  return a.kind !== "unusable" && b.kind === a.kind && a.device === b.device && a.inode === b.inode;
}
