import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { access, lstat, mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Reader, ScriptedUpstream, scratch } from "./support/peers.ts";
import { tlsUpstream, withoutTls } from "./support/tls-upstream.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess & AsyncDisposable {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"], env });
  const exited = once(child, "exit");
  return Object.assign(child, {
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await exited;
      }
    },
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  let line = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    line += String(chunk);
    if (line.includes("\n")) {
      break;
    }
  }
  return line;
}

/** Runs the program to its end. */
async function run(args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  await using child = start(args);
  assert.ok(child.stdout && child.stderr);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: child.exitCode, stdout, stderr };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`inferproxy says when it is ready, forwards, and on ${signal} removes its socket and exits with 0`, async () => {
    await using directory = await scratch();
    await using upstream = await ScriptedUpstream.start();
    const path = join(directory.path, "run", "infer.sock");
    await using child = start(["--listen", path, "--upstream", `http://127.0.0.1:${upstream.port}`]);
    assert.equal(await firstLine(child), `inferproxy: ready on ${path}, upstream http://127.0.0.1:${upstream.port}\n`);
    const client = new Reader(connect({ path }));
    client.socket.write("request");
    const server = await upstream.next();
    await server.until((received) => received === "request");
    child.kill(signal);
    assert.deepEqual(await once(child, "exit"), [0, null]);
    await client.closed;
    await assert.rejects(access(path), { code: "ENOENT" });
  });
}

test("inferproxy takes over a socket that a killed one left behind", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "infer.sock");
  const args = ["--listen", path, "--upstream", "http://127.0.0.1:9"];
  await using killed = start(args);
  await firstLine(killed);
  killed.kill("SIGKILL");
  await once(killed, "exit");
  assert.ok((await lstat(path)).isSocket());
  await using child = start(args);
  assert.match(await firstLine(child), /^inferproxy: ready on /u);
  const second = await run(args);
  assert.deepEqual(second, {
    code: 1,
    stdout: "",
    stderr: `inferproxy: can't serve on socket "${path}": something answers on it already; see docs/runbook.md#inferproxy-socket\n`,
  });
});

test("inferproxy checks certificates whatever its environment says", { skip: withoutTls }, async () => {
  await using directory = await scratch();
  await using tls = await tlsUpstream();
  const path = join(directory.path, "infer.sock");
  const args = ["--listen", path, "--upstream", `https://127.0.0.1:${tls.upstream.port}`];
  await using child = start(args, { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
  await firstLine(child);
  const client = new Reader(connect({ path }));
  client.socket.write("secret");
  await client.until((text) => text.includes("DEPTH_ZERO_SELF_SIGNED_CERT"));
  await client.closed;
  assert.equal(tls.received(), "");
});

test("inferproxy exits with 2 and one line when it is called wrongly", async () => {
  const result = await run(["--listen", "/x", "--upstream", "http://h", "--rate", "0"]);
  assert.equal(result.code, 2);
  assert.match(result.stderr, /^inferproxy: --rate is "0", expected .*; see docs\/runbook\.md#inferproxy-usage\n$/u);
});

test("inferproxy says how it is called", async () => {
  const result = await run(["--help"]);
  assert.equal(result.code, 0);
  assert.match(result.stdout, /^usage: inferproxy --listen PATH --upstream /u);
});

test("inferproxy exits with 1 and one line without its key, its certificates or its directory", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "run", "infer.sock");
  const file = join(directory.path, "file");
  await writeFile(file, "no certificate");
  const args = ["--listen", path, "--upstream", "https://h"];
  const gone = join(directory.path, "gone");
  const pipe = join(directory.path, "pipe");
  assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
  assert.deepEqual(await run([...args, "--api-key-file", gone]), {
    code: 1,
    stdout: "",
    stderr: `inferproxy: api key file "${gone}" cannot be read (ENOENT); see docs/runbook.md#inferproxy-api-key\n`,
  });
  for (const [ca, code] of [
    [gone, "ENOENT"],
    [file, "ERR_OSSL_PEM_NO_START_LINE"],
    [pipe, "is not a file of at most 4194304 bytes"],
  ]) {
    assert.deepEqual(await run([...args, "--ca-file", ca ?? ""]), {
      code: 1,
      stdout: "",
      stderr: `inferproxy: cannot read the certificates in "${ca}" (${code}); see docs/runbook.md#inferproxy-ca-file\n`,
    });
  }
  await mkdir(join(directory.path, "run", "infer.sock"), { recursive: true, mode: 0o700 });
  assert.deepEqual(await run(args), {
    code: 1,
    stdout: "",
    stderr: `inferproxy: can't serve on socket "${path}": something that is no socket is at its place; see docs/runbook.md#inferproxy-socket\n`,
  });
});
