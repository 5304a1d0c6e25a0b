/** podman's command lines, as functions of what brokerd knows: nothing that a model wrote is among it. */
import type { AbsPath } from "@boxmaker/proto";
import { type BoxContents, EGRESS_DIRECTORY, type ProxyContents, proxyCommand } from "../box-contents.ts";
import type { Layer } from "../layers.ts";

/** Where the tools image has its program. */
export const IMAGE_COMMAND = ["/usr/bin/node", "/opt/boxmaker/toolkit.mjs"] as const;

/** What all boxes of one brokerd have in common. */
export interface PodmanBoxes {
  /** Marks the containers of this brokerd, so that its next start finds what a crash left. */
  readonly instance: string;
  readonly image: string;
  /** Null: podman's own choice. */
  readonly ociRuntime: string | null;
  readonly user: { readonly kind: "root" | "rootless"; readonly uid: number; readonly gid: number };
  /** Null where the machine can't enforce them and the owner said that this is all right. */
  readonly limits: { readonly memory: string; readonly pids: number } | null;
  readonly seccompProfile: AbsPath;
  /** For boxes that talk by the proxy's socket. */
  readonly egressProfile: AbsPath;
  /** The network of the proxies; null: podman's own choice. */
  readonly egressNetwork: string | null;
  readonly emptyFile: AbsPath;
}

/** podman kills the container by itself this long after brokerd should have. */
const BACKSTOP_SECONDS = 5;

/** One field of podman's comma-separated mount options. */
function field(text: string): string {
  return /[",\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function bind(source: AbsPath, target: AbsPath, options: string): string {
  return `--mount=type=bind,${field(`src=${source}`)},${field(`dst=${target}`)},${options}`;
}

function mount({ kind, path }: Layer, emptyFile: AbsPath): string {
  switch (kind) {
    case "read_only":
      return bind(path, path, "ro,nosuid,nodev,noexec");
    case "writable":
    case "pin":
      return bind(path, path, "nosuid,nodev,noexec");
    case "empty_file":
      return bind(emptyFile, path, "ro,nosuid,nodev,noexec");
    case "empty_directory":
      // Without notmpcopyup the container would start with a copy of what is to be hidden.
      return `--mount=type=tmpfs,${field(`dst=${path}`)},ro,notmpcopyup,tmpfs-size=4k,tmpfs-mode=0555,nosuid,nodev,noexec`;
    default:
      return kind satisfies never;
  }
}

/** `podman run` of one tool's box. */
export function runArguments(
  boxes: PodmanBoxes,
  name: string,
  { layers, egress }: BoxContents,
  limitMs: number,
): readonly string[] {
  return [
    ...globalArguments(boxes.ociRuntime),
    "run",
    "--interactive",
    "--network=none",
    ...confinement(boxes, name, egress === null ? boxes.seccompProfile : boxes.egressProfile, limitMs),
    ...layers.map((layer) => mount(layer, boxes.emptyFile)),
    ...(egress === null ? [] : [bind(egress, EGRESS_DIRECTORY, "ro,nosuid,nodev,noexec")]),
    boxes.image,
    ...IMAGE_COMMAND,
  ];
}

/** The same for a box that is started before its call: podman writes its first process there, so that what it holds can be looked at. */
export function runAheadArguments(
  boxes: PodmanBoxes,
  name: string,
  contents: BoxContents,
  lifeMs: number,
  processFile: AbsPath,
): readonly string[] {
  const args = runArguments(boxes, name, contents, lifeMs);
  const at = args.indexOf("--interactive");
  return args.toSpliced(at, 0, `--pidfile=${processFile}`);
}

/** `podman run` of one proxy's box: a tool's box but for its network, and for the socket that it makes. */
export function proxyArguments(
  boxes: PodmanBoxes,
  name: string,
  { directory, hosts }: ProxyContents,
  limitMs: number,
): readonly string[] {
  return [
    ...globalArguments(boxes.ociRuntime),
    "run",
    ...(boxes.egressNetwork === null ? [] : [`--network=${boxes.egressNetwork}`]),
    ...confinement(boxes, name, boxes.egressProfile, limitMs),
    bind(directory, EGRESS_DIRECTORY, "nosuid,nodev,noexec"),
    boxes.image,
    ...IMAGE_COMMAND,
    ...proxyCommand(hosts),
  ];
}

/** What holds every box of ours, whatever is in it. */
function confinement(
  { instance, user, limits }: PodmanBoxes,
  name: string,
  seccompProfile: AbsPath,
  limitMs: number,
): readonly string[] {
  return [
    "--rm",
    "--pull=never",
    `--name=${name}`,
    `--label=boxmaker=${instance}`,
    "--read-only",
    "--read-only-tmpfs=false",
    "--tmpfs=/tmp:rw,notmpcopyup,size=64m,nosuid,nodev,noexec,mode=1777",
    // Else a box of root's id could fill 64 MiB there; this one also comes without terminals and message queues.
    "--tmpfs=/dev:ro,size=64k,mode=755,nosuid,noexec,dev",
    "--ipc=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    `--security-opt=seccomp=${seccompProfile}`,
    ...(user.kind === "root" ? [] : ["--userns=keep-id"]),
    `--user=${user.uid}:${user.gid}`,
    ...(limits === null
      ? []
      : [`--pids-limit=${limits.pids}`, `--memory=${limits.memory}`, `--memory-swap=${limits.memory}`, "--cpus=1"]),
    "--ulimit=nofile=256:256",
    "--ulimit=nproc=256:256",
    "--ulimit=fsize=104857600:104857600",
    "--ulimit=core=0:0",
    "--log-driver=none",
    "--no-hosts",
    "--hostname=box",
    "--http-proxy=false",
    "--unsetenv-all",
    "--env=PATH=/usr/bin:/bin",
    "--env=HOME=/tmp",
    "--passwd=false",
    "--systemd=false",
    `--timeout=${Math.ceil(limitMs / 1000) + BACKSTOP_SECONDS}`,
    "--workdir=/",
    // Nothing that an image says counts: no program around ours, no volumes to write to, no commands that run by the clock.
    "--entrypoint=",
    "--image-volume=ignore",
    "--no-healthcheck",
  ];
}

function globalArguments(ociRuntime: string | null): readonly string[] {
  return ociRuntime === null ? [] : [`--runtime=${ociRuntime}`];
}

/** `podman kill` of one box. */
export function killArguments(name: string): readonly string[] {
  return ["kill", "--signal=KILL", name];
}

/** `podman rm` of boxes, running or not. */
export function removeArguments(names: readonly string[]): readonly string[] {
  return ["rm", "--force", "--ignore", "--time=0", ...names];
}

/** `podman ps` that prints the ids of every container of this brokerd. */
export function leftoverArguments(instance: string): readonly string[] {
  return ["ps", "--all", "--quiet", "--no-trunc", `--filter=label=boxmaker=${instance}`];
}
