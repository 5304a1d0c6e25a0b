/** Paths that a box has of its own: a grant that overlaps one would replace a part of the box. */
import { AbsPath, holdsPath } from "@boxmaker/proto";

export const CONTAINER_PATHS: readonly AbsPath[] = [
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/opt/boxmaker",
  "/proc",
  "/run",
  "/sbin",
  "/sys",
  "/usr",
].map((path) => AbsPath.parse(path));

/** The box's scratch space. What lies below it on the host can be mounted over it; only `/tmp` itself, or a parent, would replace it. */
const SCRATCH = AbsPath.parse("/tmp");

/** Whether one of the paths is, holds or lies in the other. */
export function overlaps(a: AbsPath, b: AbsPath): boolean {
  return holdsPath(a, b) || holdsPath(b, a);
}

/** The path of the box that a grant's path would get in the way of, if any. */
export function containerPathAt(path: AbsPath): AbsPath | undefined {
  return holdsPath(path, SCRATCH) ? SCRATCH : CONTAINER_PATHS.find((own) => overlaps(own, path));
}
