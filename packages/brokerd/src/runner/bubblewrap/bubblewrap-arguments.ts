/** bubblewrap's command line, as a function of what brokerd knows: nothing that a model wrote is among it. */
import type { AbsPath } from "@boxmaker/proto";
import type { Layer } from "../layers.ts";

/** How a top-level directory of the host's system is there: as itself, or as a link into /usr. */
export type SystemDirectory =
  | { readonly kind: "directory"; readonly path: AbsPath }
  | { readonly kind: "link"; readonly path: AbsPath; readonly target: string };

/** What all boxes of one brokerd have in common. */
export interface BubblewrapBoxes {
  readonly node: AbsPath;
  readonly toolkit: AbsPath;
  readonly system: readonly SystemDirectory[];
  readonly emptyFile: AbsPath;
  /** Where the device nodes come from. */
  readonly devices: AbsPath;
}

/** The descriptor on which the system call filter comes. */
const FILTER_DESCRIPTOR = 3;
/** The descriptor on which bubblewrap says which process is the first in the box. */
const REPORT_DESCRIPTOR = 4;
const SCRATCH_BYTES = 64 * 1024 * 1024;
const MASK_BYTES = 4096;
const NODE = "/opt/boxmaker/node";
const TOOLKIT = "/opt/boxmaker/toolkit.mjs";
/** The device nodes of a box. */
export const DEVICES = ["null", "zero", "full", "random", "urandom"] as const;
const STREAMS = ["stdin", "stdout", "stderr"] as const;

function system(directory: SystemDirectory): readonly string[] {
  switch (directory.kind) {
    case "directory":
      return ["--ro-bind", directory.path, directory.path];
    case "link":
      return ["--symlink", directory.target, directory.path];
    default:
      return directory satisfies never;
  }
}

function mount({ kind, path }: Layer, emptyFile: AbsPath): readonly string[] {
  switch (kind) {
    case "read_only":
      return ["--ro-bind", path, path];
    case "writable":
    case "pin":
      return ["--bind", path, path];
    case "empty_file":
      return ["--ro-bind", emptyFile, path];
    case "empty_directory":
      return ["--perms", "0555", "--size", String(MASK_BYTES), "--tmpfs", path, "--remount-ro", path];
    default:
      return kind satisfies never;
  }
}

/** bubblewrap and the box's program. Its mounts are nosuid and nodev by themselves. */
export function boxArguments(
  { node, toolkit, system: directories, emptyFile, devices }: BubblewrapBoxes,
  layers: readonly Layer[],
): readonly string[] {
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--clearenv",
    "--setenv",
    "PATH",
    "/usr/bin:/bin",
    "--setenv",
    "HOME",
    "/tmp",
    "--hostname",
    "box",
    "--seccomp",
    String(FILTER_DESCRIPTOR),
    "--info-fd",
    String(REPORT_DESCRIPTOR),
    ...directories.flatMap(system),
    "--proc",
    "/proc",
    // Where brokerd runs as root the box has root's id, though none of its rights: /proc/sys would let it write the kernel's settings.
    "--remount-ro",
    "/proc",
    // Not --dev: that is a writable file system without a size.
    ...DEVICES.flatMap((name) => ["--dev-bind", `${devices}/${name}`, `/dev/${name}`]),
    "--symlink",
    "/proc/self/fd",
    "/dev/fd",
    ...STREAMS.flatMap((name, index) => ["--symlink", `/proc/self/fd/${index}`, `/dev/${name}`]),
    "--perms",
    "1777",
    "--size",
    String(SCRATCH_BYTES),
    "--tmpfs",
    "/tmp",
    "--ro-bind",
    node,
    NODE,
    "--ro-bind",
    toolkit,
    TOOLKIT,
    ...layers.flatMap((layer) => mount(layer, emptyFile)),
    "--remount-ro",
    "/",
    "--chdir",
    "/",
    "--",
    NODE,
    TOOLKIT,
  ];
}
