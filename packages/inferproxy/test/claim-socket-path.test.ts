import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, chown, lstat, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { claimSocketPath } from "../src/socket/claim-socket-path.ts";
import { scratch, startProxy } from "./support/peers.ts";

test("serve() makes its socket's directory 0700 and its socket 0600", async () => {
  await using proxy = await startProxy("http://127.0.0.1:9");
  assert.equal((await stat(join(proxy.path, ".."))).mode & 0o7777, 0o700);
  assert.equal((await lstat(proxy.path)).mode & 0o7777, 0o600);
});

test("claimSocketPath() closes a directory that it finds open to others", async () => {
  await using directory = await scratch();
  const found = join(directory.path, "run");
  await mkdir(found);
  await chmod(found, 0o755);
  assert.deepEqual(await claimSocketPath(join(found, "infer.sock")), { kind: "claimed" });
  assert.equal((await stat(found)).mode & 0o7777, 0o700);
});

const BAD_DIRECTORIES: readonly (readonly [why: string, make: (path: string) => Promise<unknown>])[] = [
  ["is a link", async (path) => mkdir(`${path}.real`).then(() => symlink(`${path}.real`, path))],
  ["links to nothing", (path) => symlink(`${path}.gone`, path)],
  ["is a file", (path) => writeFile(path, "")],
  ["is shared like /tmp", async (path) => mkdir(path).then(() => chmod(path, 0o1777))],
];
for (const [why, make] of BAD_DIRECTORIES) {
  test(`claimSocketPath() refuses a directory that ${why} and leaves it as it is`, async () => {
    await using directory = await scratch();
    const path = join(directory.path, "run");
    await make(path);
    const before = await lstat(path);
    const claim = await claimSocketPath(join(path, "infer.sock"));
    assert.ok(claim.kind === "refused");
    assert.equal(claim.refusal.runbook, "docs/runbook.md#inferproxy-socket");
    assert.equal((await lstat(path)).mode, before.mode);
  });
}

test("claimSocketPath() refuses a directory of another user", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "run");
  await mkdir(path);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    await chown(path, 65_534, 65_534);
  }
  const claim = await claimSocketPath(join(isRoot ? path : "/", "infer.sock"));
  assert.ok(claim.kind === "refused");
  assert.match(claim.refusal.message, /belongs to another user/u);
});

test("claimSocketPath() never removes what is no socket", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "infer.sock");
  await writeFile(path, "precious");
  const claim = await claimSocketPath(path);
  assert.ok(claim.kind === "refused");
  assert.ok((await lstat(path)).isFile());
});

test("claimSocketPath() refuses a socket that answers and leaves it there", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "infer.sock");
  await using server = createServer();
  server.listen({ path });
  await once(server, "listening");
  const claim = await claimSocketPath(path);
  assert.deepEqual(claim, {
    kind: "refused",
    refusal: {
      message: `a program already answers on "${path}": stop it or name another path`,
      runbook: "docs/runbook.md#inferproxy-socket-in-use",
    },
  });
  assert.ok((await lstat(path)).isSocket());
});
