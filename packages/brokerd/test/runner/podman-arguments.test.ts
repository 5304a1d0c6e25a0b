import assert from "node:assert/strict";
import { test } from "node:test";
import {
  killArguments,
  leftoverArguments,
  type PodmanBoxes,
  removeArguments,
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
  emptyFile: absPath("/home/me/box/run/runner/empty"),
};

test("podman's command line is exactly this, as root", () => {
  const args = runArguments(
    BOXES,
    "boxmaker-abc123-00",
    [
      { kind: "writable", path: absPath("/srv/notes") },
      { kind: "pin", path: absPath("/srv/notes/a") },
      { kind: "empty_directory", path: absPath("/srv/notes/a/.ssh") },
      { kind: "empty_file", path: absPath("/srv/notes/a/x,y") },
      { kind: "read_only", path: absPath('/srv/"quoted"') },
    ],
    30_000,
  );
  assert.deepEqual(args, [
    "--runtime=runc",
    "run",
    "--rm",
    "--interactive",
    "--pull=never",
    "--name=boxmaker-abc123-00",
    "--label=boxmaker=abc123",
    "--network=none",
    "--read-only",
    "--read-only-tmpfs=false",
    "--tmpfs=/tmp:rw,notmpcopyup,size=64m,nosuid,nodev,noexec,mode=1777",
    "--ipc=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--security-opt=seccomp=/home/me/box/run/runner/seccomp.json",
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
    "--timeout=35",
    "--workdir=/",
    "--mount=type=bind,src=/srv/notes,dst=/srv/notes,nosuid,nodev,noexec",
    "--mount=type=bind,src=/srv/notes/a,dst=/srv/notes/a,nosuid,nodev,noexec",
    "--mount=type=tmpfs,dst=/srv/notes/a/.ssh,ro,notmpcopyup,tmpfs-size=4k,tmpfs-mode=0555,nosuid,nodev,noexec",
    '--mount=type=bind,src=/home/me/box/run/runner/empty,"dst=/srv/notes/a/x,y",ro,nosuid,nodev,noexec',
    '--mount=type=bind,"src=/srv/""quoted""","dst=/srv/""quoted""",ro,nosuid,nodev,noexec',
    IMAGE,
    "/usr/bin/node",
    "/opt/boxmaker/toolkit.mjs",
  ]);
});

test("rootless podman keeps the owner's id, and gets no limits that it would drop in silence", () => {
  const args = runArguments({ ...BOXES, ociRuntime: null, user: { kind: "rootless" }, limits: null }, "n", [], 1);
  assert.equal(args[0], "run");
  assert.ok(args.includes("--userns=keep-id"));
  assert.ok(args.includes("--timeout=6"));
  for (const arg of args) assert.doesNotMatch(arg, /^--(?:user|pids-limit|memory|memory-swap|cpus)=/u);
});

test("podman's other command lines are exactly these", () => {
  assert.deepEqual(killArguments("n"), ["kill", "--signal=KILL", "n"]);
  assert.deepEqual(removeArguments(["n", "m"]), ["rm", "--force", "--ignore", "--time=0", "n", "m"]);
  assert.deepEqual(leftoverArguments("i"), ["ps", "--all", "--quiet", "--no-trunc", "--filter=label=boxmaker=i"]);
});
