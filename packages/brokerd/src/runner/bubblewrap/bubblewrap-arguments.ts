/** bubblewrap's command line, as a function of what brokerd knows: nothing that a model wrote is among it. */
import type { AbsPath } from "@boxmaker/proto";
import { type BoxContents, EGRESS_DIRECTORY, type ProxyContents, proxyCommand } from "../box-contents.ts";
import type { Layer } from "../layers.ts";

/** How a top-level directory of the host's system is there: as itself, or as a link into /usr. */
export type SystemDirectory =
  | { readonly kind: "directory"; readonly path: AbsPath }
  | { readonly kind: "link"; readonly path: AbsPath; readonly target: string };

/** What all boxes of one brokerd have in common. */
export interface BubblewrapBoxes {
  /** Marks the processes of this brokerd, so that its next start finds what a crash left. */
  readonly instance: string;
  readonly node: AbsPath;
  readonly toolkit: AbsPath;
  readonly system: readonly SystemDirectory[];
  readonly emptyFile: AbsPath;
  /** Where the device nodes come from. */
  readonly devices: AbsPath;
  /** Where curl looks for the certificates that it trusts, and which files of the host those are: for boxes that fetch. */
  readonly certificates: readonly HostFile[];
}

/** A file of the host that a box has under the name that programs look for; on the host that name may be a link. */
export interface HostFile {
  readonly path: AbsPath;
  readonly source: AbsPath;
}

/** The descriptor on which the system call filter comes. */
const FILTER_DESCRIPTOR = 3;
/** The descriptor on which bubblewrap says which process is the first in the box. */
const REPORT_DESCRIPTOR = 4;
const SCRATCH_BYTES = 64 * 1024 * 1024;
const MASK_BYTES = 4096;
const NODE = "/opt/boxmaker/node";
const TOOLKIT = "/opt/boxmaker/toolkit.mjs";
/** The variable on whose value a box's brokerd is told on its command line. */
const MARK = "BOXMAKER";
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

/** The command line of one tool's box, after bubblewrap itself. Its mounts are nosuid and nodev by themselves. */
export function boxArguments(boxes: BubblewrapBoxes, { layers, egress }: BoxContents): readonly string[] {
  return [
    ...confinement(boxes, false),
    ...layers.flatMap((layer) => mount(layer, boxes.emptyFile)),
    ...(egress === null ? [] : ["--ro-bind", egress, EGRESS_DIRECTORY, ...boxes.certificates.flatMap(hostFile)]),
    ...INNER_COMMAND,
  ];
}

/**
 * The command line of one proxy's box: a tool's box, but on the host's network. `resolver` says which name servers there are; null
 * where the host has no such file.
 */
export function proxyArguments(
  boxes: BubblewrapBoxes,
  { directory, hosts }: ProxyContents,
  resolver: HostFile | null,
): readonly string[] {
  return [
    ...confinement(boxes, true),
    "--bind",
    directory,
    EGRESS_DIRECTORY,
    ...(resolver === null ? [] : hostFile(resolver)),
    ...INNER_COMMAND,
    ...proxyCommand(hosts),
  ];
}

function hostFile({ path, source }: HostFile): readonly string[] {
  return ["--ro-bind", source, path];
}

const INNER_COMMAND = ["--remount-ro", "/", "--chdir", "/", "--", NODE, TOOLKIT] as const;

/** What holds every box of ours, whatever is in it. */
function confinement(
  { instance, node, toolkit, system: directories, devices }: BubblewrapBoxes,
  sharesNetwork: boolean,
): readonly string[] {
  return [
    "--unshare-all",
    ...(sharesNetwork ? ["--share-net"] : []),
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    // On the command line, where a sweep looks for it, and by the next option out of the environment again.
    "--setenv",
    MARK,
    instance,
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
  ];
}

/** What the command lines of this brokerd's boxes have in them, each argument ended by a zero byte as the kernel shows them. */
export function markOf(instance: string): string {
  return `\0--setenv\0${MARK}\0${instance}\0--clearenv\0`;
}
