/** podman's command lines, as functions of what brokerd knows: nothing that a model wrote is among it. */
import type { AbsPath } from "@boxmaker/proto";
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
  readonly user: { readonly kind: "root"; readonly uid: number; readonly gid: number } | { readonly kind: "rootless" };
  /** Null where the machine can't enforce them and the owner said that this is all right. */
  readonly limits: { readonly memory: string; readonly pids: number } | null;
  readonly seccompProfile: AbsPath;
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

/** `podman run` of one box. */
export function runArguments(boxes: PodmanBoxes, name: string, layers: readonly Layer[], limitMs: number): readonly string[] {
  const { instance, image, ociRuntime, user, limits, seccompProfile, emptyFile } = boxes;
  return [
    ...globalArguments(ociRuntime),
    "run",
    "--rm",
    "--interactive",
    "--pull=never",
    `--name=${name}`,
    `--label=boxmaker=${instance}`,
    "--network=none",
    "--read-only",
    "--read-only-tmpfs=false",
    "--tmpfs=/tmp:rw,notmpcopyup,size=64m,nosuid,nodev,noexec,mode=1777",
    "--ipc=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    `--security-opt=seccomp=${seccompProfile}`,
    user.kind === "root" ? `--user=${user.uid}:${user.gid}` : "--userns=keep-id",
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
    ...layers.map((layer) => mount(layer, emptyFile)),
    image,
    ...IMAGE_COMMAND,
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
