import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { ConnectError, connectUnix, listenUnix, type UnixServer } from "@boxmaker/edge/socket";
import { tempFolder } from "./temp-folder.ts";

const PYTHON = "/usr/bin/python3";
const never = new AbortController().signal;

async function listening(
  path: string,
  onConnection: (socket: Socket) => void = (socket) => socket.end(),
  maxConnections = 8,
): Promise<UnixServer> {
  const result = await listenUnix({ path, onConnection, maxConnections });
  if (result.kind === "refused") throw new Error(result.problem);
  return result.server;
}

async function refusal(path: string): Promise<string> {
  const result = await listenUnix({ path, onConnection: (socket) => socket.end(), maxConnections: 8 });
  if (result.kind === "listening") {
    await result.server[Symbol.asyncDispose]();
    throw new Error("expected a refusal");
  }
  return result.problem;
}

test("listenUnix() makes the directory 0700 and the socket 0600, and removes the socket when it ends", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "a/b/x.sock");
  const server = await listening(path);
  assert.equal((await stat(join(folder.path, "a/b"))).mode & 0o7777, 0o700);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await server[Symbol.asyncDispose]();
  await server.closed;
  await assert.rejects(lstat(path), { code: "ENOENT" });
});

test("listenUnix() closes a found directory of ours to everybody else", async () => {
  await using folder = await tempFolder();
  const directory = join(folder.path, "d");
  await mkdir(directory);
  await chmod(directory, 0o755);
  await using server = await listening(join(directory, "x.sock"));
  assert.equal((await stat(directory)).mode & 0o777, 0o700);
  assert.ok(server.path.endsWith("x.sock"));
});

test("listenUnix() refuses a directory that is a symlink, and leaves the target's mode alone", async () => {
  await using folder = await tempFolder();
  const target = join(folder.path, "target");
  await mkdir(target);
  await chmod(target, 0o755);
  await symlink(target, join(folder.path, "link"));
  assert.match(await refusal(join(folder.path, "link/x.sock")), /symlink/u);
  assert.equal((await stat(target)).mode & 0o777, 0o755);
});

test("listenUnix() refuses a directory that others can write, and leaves its mode alone", async () => {
  await using folder = await tempFolder();
  const shared = join(folder.path, "shared");
  await mkdir(shared);
  await chmod(shared, 0o1777);
  assert.match(await refusal(join(shared, "x.sock")), /shared with others/u);
  assert.equal((await stat(shared)).mode & 0o7777, 0o1777);
});

test("listenUnix() refuses a path that the kernel would cut", async () => {
  await using folder = await tempFolder();
  assert.match(await refusal(join(folder.path, `${"x".repeat(120)}.sock`)), /longer than 107 bytes/u);
});

test("listenUnix() refuses a socket that is being served, and leaves it working", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "d/x.sock");
  await using server = await listening(path);
  assert.match(await refusal(path), /answers on it already/u);
  const socket = await connectUnix(server.path, { signal: never });
  socket.destroy();
});

test("listenUnix() takes the place of a socket that nothing serves any more", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "x.sock");
  // A process that is killed leaves its socket behind.
  const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  const child = spawnSync(process.execPath, ["-e", script]);
  assert.equal(child.signal, "SIGKILL");
  assert.ok((await lstat(path)).isSocket());
  await using server = await listening(path);
  const socket = await connectUnix(server.path, { signal: never });
  socket.destroy();
});

test("listenUnix() leaves a socket alone whose server is stuck and takes nobody any more", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "x.sock");
  const script = `require("node:net").createServer().listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => console.log("up"))`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const waiting: Socket[] = [];
  try {
    await once(child.stdout, "data");
    child.kill("SIGSTOP");
    for (;;) {
      const socket = await connectUnix(path, { signal: never }).catch(() => undefined);
      if (socket === undefined) break;
      waiting.push(socket);
    }
    assert.match(await refusal(path), /something may be serving on it already/u);
    assert.ok((await lstat(path)).isSocket());
  } finally {
    child.kill("SIGKILL");
    for (const socket of waiting) socket.destroy();
  }
});

test("listenUnix() leaves a socket of another kind alone", { skip: !existsSync(PYTHON) && `needs ${PYTHON}` }, async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "x.sock");
  const bind = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1])";
  const child = spawn(PYTHON, ["-c", `${bind}; print("up", flush=True); sys.stdin.read()`, path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    await once(child.stdout, "data");
    assert.match(await refusal(path), /something may be serving on it already/u);
    assert.ok((await lstat(path)).isSocket());
  } finally {
    child.kill("SIGKILL");
  }
});

test("listenUnix() leaves a file or link at the socket's place alone", async () => {
  await using folder = await tempFolder();
  const file = join(folder.path, "file.sock");
  await writeFile(file, "kept");
  assert.match(await refusal(file), /no socket/u);
  assert.equal((await lstat(file)).isFile(), true);
  const link = join(folder.path, "link.sock");
  await symlink(file, link);
  assert.match(await refusal(link), /no socket/u);
  assert.equal((await lstat(link)).isSymbolicLink(), true);
});

test("listenUnix() closes a connection over the limit, and takes one again when another has ended", async () => {
  await using folder = await tempFolder();
  const open: Socket[] = [];
  const path = join(folder.path, "d/x.sock");
  await using server = await listening(
    path,
    (socket) => {
      open.push(socket);
      socket.resume();
    },
    1,
  );
  const first = await connectUnix(server.path, { signal: never });
  const second = await connectUnix(server.path, { signal: never });
  second.resume();
  await once(second, "end");
  second.destroy();
  const [served] = open;
  assert.ok(served !== undefined);
  assert.equal(open.length, 1);
  const closed = once(served, "close");
  first.destroy();
  served.destroy();
  await closed;
  assert.equal(open.length, 1, "the refused connection was never handed on");
  const third = await connectUnix(server.path, { signal: never });
  await new Promise<void>((resolve) => {
    const look = (): void => (open.length === 2 ? resolve() : void setImmediate(look));
    look();
  });
  third.destroy();
  for (const socket of open) socket.destroy();
});

test("listenUnix() takes a burst of connections that all come before it comes round to the first one", async () => {
  await using folder = await tempFolder();
  await using server = await listening(join(folder.path, "d/x.sock"), (socket) => socket.end(), 1000);
  const burst = await Promise.all(Array.from({ length: 700 }, () => connectUnix(server.path, { signal: never })));
  assert.equal(burst.length, 700);
  for (const socket of burst) socket.destroy();
});

test("connectUnix() tells a missing socket, a refusing one and a passed deadline apart", async () => {
  await using folder = await tempFolder();
  const missing = await connectUnix(join(folder.path, "x.sock"), { signal: never }).catch((error: unknown) => error);
  assert.ok(missing instanceof ConnectError);
  assert.equal(missing.code, "absent");
  await writeFile(join(folder.path, "file"), "");
  const refused = await connectUnix(join(folder.path, "file"), { signal: never }).catch((error: unknown) => error);
  assert.ok(refused instanceof ConnectError);
  assert.equal(refused.code, "refused");
  const late = await connectUnix(join(folder.path, "file"), { signal: AbortSignal.abort() }).catch((error: unknown) => error);
  assert.ok(late instanceof ConnectError);
  assert.equal(late.code, "timeout");
});

test("listenUnix() leaves a directory alone that is open to others and holds more than sockets", async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, "home");
  await mkdir(home);
  await writeFile(join(home, "letter"), "");
  await chmod(home, 0o755);
  assert.match(await refusal(join(home, "x.sock")), /open to others and holds other things/u);
  assert.equal((await stat(home)).mode & 0o777, 0o755);
  await chmod(home, 0o700);
  await using server = await listening(join(home, "x.sock"));
  assert.ok(server.path.startsWith(home));
});
