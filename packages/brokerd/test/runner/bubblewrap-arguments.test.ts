import assert from "node:assert/strict";
import { test } from "node:test";
import { HostPattern } from "@boxmaker/proto";
import { type BubblewrapBoxes, boxArguments, markOf, proxyArguments } from "../../src/runner/bubblewrap/bubblewrap-arguments.ts";
import { absPath } from "./decisions.ts";

const BOXES: BubblewrapBoxes = {
  instance: "abc123",
  node: absPath("/opt/node"),
  toolkit: absPath("/opt/toolkit.mjs"),
  system: [
    { kind: "directory", path: absPath("/usr") },
    { kind: "link", path: absPath("/bin"), target: "usr/bin" },
  ],
  emptyFile: absPath("/home/me/box/run/runner/empty"),
  devices: absPath("/dev"),
  certificates: [{ path: absPath("/etc/ssl/cert.pem"), source: absPath("/etc/ssl/certs/all.pem") }],
};

const INSIDE = [
  "--die-with-parent --new-session --cap-drop ALL --setenv BOXMAKER abc123 --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /tmp",
  "--hostname box --seccomp 3 --info-fd 4 --ro-bind /usr /usr --symlink usr/bin /bin --proc /proc --remount-ro /proc",
  "--dev-bind /dev/null /dev/null --dev-bind /dev/zero /dev/zero --dev-bind /dev/full /dev/full",
  "--dev-bind /dev/random /dev/random --dev-bind /dev/urandom /dev/urandom --symlink /proc/self/fd /dev/fd",
  "--symlink /proc/self/fd/0 /dev/stdin --symlink /proc/self/fd/1 /dev/stdout --symlink /proc/self/fd/2 /dev/stderr",
  "--perms 1777 --size 67108864 --tmpfs /tmp --ro-bind /opt/node /opt/boxmaker/node",
  "--ro-bind /opt/toolkit.mjs /opt/boxmaker/toolkit.mjs",
];
const COMMAND = "--remount-ro / --chdir / -- /opt/boxmaker/node /opt/boxmaker/toolkit.mjs";
const EGRESS = absPath("/home/me/box/run/runner/egress/aB3");

function words(...lines: readonly string[]): readonly string[] {
  return lines.join(" ").split(" ");
}

test("bubblewrap's command line is exactly this", () => {
  const args = boxArguments(BOXES, {
    layers: [
      { kind: "writable", path: absPath("/srv/notes") },
      { kind: "pin", path: absPath("/srv/notes/a") },
      { kind: "empty_directory", path: absPath("/srv/notes/a/.ssh") },
      { kind: "empty_file", path: absPath("/srv/notes/a/.env") },
      { kind: "read_only", path: absPath("/srv/other") },
    ],
    egress: null,
  });
  const layers = [
    "--bind /srv/notes /srv/notes --bind /srv/notes/a /srv/notes/a",
    "--perms 0555 --size 4096 --tmpfs /srv/notes/a/.ssh --remount-ro /srv/notes/a/.ssh",
    "--ro-bind /home/me/box/run/runner/empty /srv/notes/a/.env --ro-bind /srv/other /srv/other",
  ];
  assert.deepEqual(args, words("--unshare-all", ...INSIDE, ...layers, COMMAND));
});

test("bubblewrap's command line of a box that fetches has the proxy's directory and the certificates, and no network", () => {
  const args = boxArguments(BOXES, { layers: [], egress: EGRESS });
  const added = `--ro-bind ${EGRESS} /run/boxmaker/egress --ro-bind /etc/ssl/certs/all.pem /etc/ssl/cert.pem`;
  assert.deepEqual(args, words("--unshare-all", ...INSIDE, added, COMMAND));
});

test("bubblewrap's command line of a proxy is a box's, but on the host's network and with its name servers", () => {
  const hosts = ["example.com", "*.example.net"].map((host) => HostPattern.parse(host));
  const resolver = { path: absPath("/etc/resolv.conf"), source: absPath("/run/systemd/resolve/stub-resolv.conf") };
  const shared = `--bind ${EGRESS} /run/boxmaker/egress`;
  const proxy = "egress-proxy --socket /run/boxmaker/egress/proxy.sock --allow example.com --allow *.example.net";
  assert.deepEqual(
    proxyArguments(BOXES, { directory: EGRESS, hosts }, resolver),
    words("--unshare-all --share-net", ...INSIDE, shared, `--ro-bind ${resolver.source} /etc/resolv.conf`, COMMAND, proxy),
  );
  assert.deepEqual(
    proxyArguments(BOXES, { directory: EGRESS, hosts }, null),
    words("--unshare-all --share-net", ...INSIDE, shared, COMMAND, proxy),
  );
});

test("markOf() is what every command line of this brokerd's boxes holds, and no other's", () => {
  const lines = [
    boxArguments(BOXES, { layers: [], egress: null }),
    proxyArguments(BOXES, { directory: EGRESS, hosts: [] }, null),
  ].map((args) => `${args.join("\0")}\0`);
  for (const line of lines) {
    assert.ok(line.includes(markOf("abc123")));
    for (const other of ["abc12", "bc123", "abc1234", ""]) assert.ok(!line.includes(markOf(other)));
  }
});
