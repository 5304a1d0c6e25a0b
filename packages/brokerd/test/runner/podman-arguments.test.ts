import assert from "node:assert/strict";
import { test } from "node:test";
import { HostPattern } from "@boxmaker/proto";
import {
  killArguments,
  leftoverArguments,
  type PodmanBoxes,
  proxyArguments,
  removeArguments,
  runAheadArguments,
  runArguments,
} from "../../src/runner/podman/podman-arguments.ts";
import { absPath } from "./decisions.ts";

const IMAGE = `sha256:${"0123456789abcdef".repeat(4)}`;
const BOXES: PodmanBoxes = {
  instance: "abc123",
  image: IMAGE,
  ociRuntime: "runc",
  user: { kind: "root", uid: 1000, gid: 1001 },
  limits: { memory: "256m", pids: 64 },
  seccompProfile: absPath("/home/me/box/run/runner/seccomp.json"),
  egressProfile: absPath("/home/me/box/run/runner/seccomp-egress.json"),
  egressNetwork: null,
  emptyFile: absPath("/home/me/box/run/runner/empty"),
};

/** What every box of ours is held by. */
function confinement(profile: string, timeout: number): readonly string[] {
  return [
    "--rm",
    "--pull=never",
    "--name=boxmaker-abc123-00",
    "--label=boxmaker=abc123",
    "--read-only",
    "--read-only-tmpfs=false",
    "--tmpfs=/tmp:rw,notmpcopyup,size=64m,nosuid,nodev,noexec,mode=1777",
    "--tmpfs=/dev:ro,size=64k,mode=755,nosuid,noexec,dev",
    "--ipc=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    `--security-opt=seccomp=/home/me/box/run/runner/${profile}.json`,
    "--user=1000:1001",
    "--pids-limit=64",
    "--memory=256m",
    "--memory-swap=256m",
    "--cpus=1",
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
    `--timeout=${timeout}`,
    "--workdir=/",
    "--entrypoint=",
    "--image-volume=ignore",
    "--no-healthcheck",
  ];
}

const COMMAND = [IMAGE, "/usr/bin/node", "/opt/boxmaker/toolkit.mjs"];
const EGRESS = absPath("/home/me/box/run/runner/egress/aB3");
const NAME = "boxmaker-abc123-00";

test("podman's command line is exactly this, as root", () => {
  const layers = [
    { kind: "writable", path: absPath("/srv/notes") },
    { kind: "pin", path: absPath("/srv/notes/a") },
    { kind: "empty_directory", path: absPath("/srv/notes/a/.ssh") },
    { kind: "empty_file", path: absPath("/srv/notes/a/x,y") },
    { kind: "read_only", path: absPath('/srv/"quoted"') },
  ] as const;
  assert.deepEqual(runArguments(BOXES, NAME, { layers, egress: null }, 30_000), [
    "--runtime=runc",
    "run",
    "--interactive",
    "--network=none",
    ...confinement("seccomp", 35),
    "--mount=type=bind,src=/srv/notes,dst=/srv/notes,nosuid,nodev,noexec",
    "--mount=type=bind,src=/srv/notes/a,dst=/srv/notes/a,nosuid,nodev,noexec",
    "--mount=type=tmpfs,dst=/srv/notes/a/.ssh,ro,notmpcopyup,tmpfs-size=4k,tmpfs-mode=0555,nosuid,nodev,noexec",
    '--mount=type=bind,src=/home/me/box/run/runner/empty,"dst=/srv/notes/a/x,y",ro,nosuid,nodev,noexec',
    '--mount=type=bind,"src=/srv/""quoted""","dst=/srv/""quoted""",ro,nosuid,nodev,noexec',
    ...COMMAND,
  ]);
});

test("podman's command line of a box that fetches has the proxy's directory and Unix sockets, and no network", () => {
  assert.deepEqual(runArguments(BOXES, NAME, { layers: [], egress: EGRESS }, 30_000), [
    "--runtime=runc",
    "run",
    "--interactive",
    "--network=none",
    ...confinement("seccomp-egress", 35),
    `--mount=type=bind,src=${EGRESS},dst=/run/boxmaker/egress,ro,nosuid,nodev,noexec`,
    ...COMMAND,
  ]);
});

test("podman's command line of a proxy is a box's, but on the network of the configuration", () => {
  const hosts = ["example.com", "*.example.net"].map((host) => HostPattern.parse(host));
  const expected = [
    ...confinement("seccomp-egress", 65),
    `--mount=type=bind,src=${EGRESS},dst=/run/boxmaker/egress,nosuid,nodev,noexec`,
    ...COMMAND,
    ..."egress-proxy --socket /run/boxmaker/egress/proxy.sock --allow example.com --allow *.example.net".split(" "),
  ];
  const contents = { directory: EGRESS, hosts };
  assert.deepEqual(proxyArguments(BOXES, NAME, contents, 60_000), ["--runtime=runc", "run", ...expected]);
  assert.deepEqual(proxyArguments({ ...BOXES, egressNetwork: "web" }, NAME, contents, 60_000), [
    "--runtime=runc",
    "run",
    "--network=web",
    ...expected,
  ]);
});

test("rootless podman keeps the owner's id, and gets no limits that it would drop in silence", () => {
  const args = runArguments(
    { ...BOXES, ociRuntime: null, user: { kind: "rootless", uid: 1000, gid: 1001 }, limits: null },
    "n",
    { layers: [], egress: null },
    1,
  );
  assert.equal(args[0], "run");
  assert.ok(args.includes("--userns=keep-id"));
  // An image may name another user, which would have the owner's files as nobody's.
  assert.ok(args.includes("--user=1000:1001"));
  assert.ok(args.includes("--timeout=6"));
  for (const arg of args) assert.doesNotMatch(arg, /^--(?:pids-limit|memory|memory-swap|cpus)=/u);
});

test("podman's other command lines are exactly these", () => {
  assert.deepEqual(killArguments("n"), ["kill", "--signal=KILL", "n"]);
  assert.deepEqual(removeArguments(["n", "m"]), ["rm", "--force", "--ignore", "--time=0", "n", "m"]);
  assert.deepEqual(leftoverArguments("i"), ["ps", "--all", "--quiet", "--no-trunc", "--filter=label=boxmaker=i"]);
});

test("a box that is started before its call has the command line of any other, and says which process is its first", () => {
  const contents = { layers: [{ kind: "writable", path: absPath("/srv/notes") }], egress: null } as const;
  const file = absPath("/home/me/box/run/runner/pool/00");
  const ahead = runAheadArguments(BOXES, "boxmaker-abc123-00", contents, 95_000, file);
  const cold = runArguments(BOXES, "boxmaker-abc123-00", contents, 95_000);
  assert.equal(ahead.indexOf(`--pidfile=${file}`), ahead.indexOf("run") + 1);
  assert.deepEqual(
    ahead.filter((word) => !word.startsWith("--pidfile=")),
    cold,
  );
});
