/** Node's command line for the process runtime: what its permission model lets the toolkit touch. */
import type { AbsPath } from "@boxmaker/proto";
import type { Layer } from "../layers.ts";

export interface ProcessBoxes {
  readonly node: AbsPath;
  readonly toolkit: AbsPath;
}

/** The toolkit walks by descriptor, so that it reaches files by these names; each stands for a file that it could open before. */
const DESCRIPTORS = "/proc/self/fd/*";

/** The path itself and, should it be a directory, what is below it. */
function below(path: AbsPath): readonly string[] {
  return [path, `${path}/*`];
}

/** Node, its permission flags, the toolkit. */
export function processArguments({ toolkit }: ProcessBoxes, layers: readonly Layer[]): readonly string[] {
  const readable = layers.filter(({ kind }) => kind === "read_only" || kind === "writable").flatMap(({ path }) => below(path));
  const writable = layers.filter(({ kind }) => kind === "writable").flatMap(({ path }) => below(path));
  return [
    "--permission",
    ...[toolkit, DESCRIPTORS, ...readable].map((path) => `--allow-fs-read=${path}`),
    ...(writable.length === 0 ? [] : [DESCRIPTORS, ...writable].map((path) => `--allow-fs-write=${path}`)),
    "--max-old-space-size=128",
    toolkit,
  ];
}
