import assert from "node:assert/strict";
import { test } from "node:test";
import { boxArguments } from "../../src/runner/bubblewrap/bubblewrap-arguments.ts";
import { absPath } from "./decisions.ts";

test("bubblewrap's command line is exactly this", () => {
  const args = boxArguments(
    {
      node: absPath("/opt/node"),
      toolkit: absPath("/opt/toolkit.mjs"),
      system: [
        { kind: "directory", path: absPath("/usr") },
        { kind: "link", path: absPath("/bin"), target: "usr/bin" },
      ],
      emptyFile: absPath("/home/me/box/run/runner/empty"),
      devices: absPath("/dev"),
    },
    [
      { kind: "writable", path: absPath("/srv/notes") },
      { kind: "pin", path: absPath("/srv/notes/a") },
      { kind: "empty_directory", path: absPath("/srv/notes/a/.ssh") },
      { kind: "empty_file", path: absPath("/srv/notes/a/.env") },
      { kind: "read_only", path: absPath("/srv/other") },
    ],
  );
  const expected = [
    "--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /tmp",
    "--hostname box --seccomp 3 --info-fd 4 --ro-bind /usr /usr --symlink usr/bin /bin --proc /proc --remount-ro /proc",
    "--dev-bind /dev/null /dev/null --dev-bind /dev/zero /dev/zero --dev-bind /dev/full /dev/full",
    "--dev-bind /dev/random /dev/random --dev-bind /dev/urandom /dev/urandom --symlink /proc/self/fd /dev/fd",
    "--symlink /proc/self/fd/0 /dev/stdin --symlink /proc/self/fd/1 /dev/stdout --symlink /proc/self/fd/2 /dev/stderr",
    "--perms 1777 --size 67108864 --tmpfs /tmp --ro-bind /opt/node /opt/boxmaker/node",
    "--ro-bind /opt/toolkit.mjs /opt/boxmaker/toolkit.mjs --bind /srv/notes /srv/notes --bind /srv/notes/a /srv/notes/a",
    "--perms 0555 --size 4096 --tmpfs /srv/notes/a/.ssh --remount-ro /srv/notes/a/.ssh",
    "--ro-bind /home/me/box/run/runner/empty /srv/notes/a/.env --ro-bind /srv/other /srv/other",
    "--remount-ro / --chdir / -- /opt/boxmaker/node /opt/boxmaker/toolkit.mjs",
  ];
  assert.deepEqual(args, expected.join(" ").split(" "));
});
