/** The egress proxy as the program of its container. */
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connectRequest, exchange } from "./egress/test-proxy.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const MAIN = join(import.meta.dirname, "..", "dist", "toolkit.mjs");

interface Program {
  readonly child: ChildProcessWithoutNullStreams;
  /** All of its output so far. */
  readonly said: { stdout: string; stderr: string };
  readonly ended: Promise<unknown>;
}

function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Program {
  const child = spawn(process.execPath, [MAIN, ...args], { env: environment });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  return { child, said, ended: once(child, "close") };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`the proxy says that it is ready, once, serves, and ends on ${signal} with its socket gone`, async () => {
    using folder = temporaryFolder();
    const path = `${folder.path}/proxy.sock`;
    const { child, said, ended } = start(["egress-proxy", "--socket", path, "--allow", "*.example.com", "--allow", "example.com"]);
    await once(child.stdout, "data");
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(await exchange(path, connectRequest("evil.test", 443)), "050005020001000000000000");
    assert.equal(await exchange(path, connectRequest("example.com", 22)), "050005020001000000000000");
    child.kill(signal);
    assert.deepEqual(await ended, [0, null]);
    assert.equal(said.stdout, "ready\n");
    const refused = ["evil.test:443", "example.com:22"].map((target) => `egress-proxy: refused ${target}: not granted\n`);
    assert.equal(said.stderr, refused.join(""));
    assert.equal(existsSync(path), false);
  });
}

test("the proxy goes on when nobody reads what it says", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/proxy.sock`;
  const { child, ended } = start(["egress-proxy", "--socket", path, "--allow", "example.com"]);
  await once(child.stdout, "data");
  child.stdout.destroy();
  child.stderr.destroy();
  for (let round = 0; round < 3; round++) {
    assert.equal(await exchange(path, connectRequest("evil.test", 443)), "050005020001000000000000");
  }
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("the proxy ends with 1 where something is at its socket's place, and leaves it there", async () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/proxy.sock`;
  writeFileSync(path, "mine");
  const { said, ended } = start(["egress-proxy", "--socket", path, "--allow", "example.com"]);
  assert.deepEqual(await ended, [1, null]);
  assert.deepEqual(said, { stdout: "", stderr: `egress-proxy: can't listen on "${path}": something is there already\n` });
  assert.equal(statSync(path).size, 4);
});

test("misuse ends with 2 and one line, and the environment changes nothing", async () => {
  for (const args of [["egress-proxy"], ["egress-proxy", "--socket", "/x", "--allow", "127.0.0.1"], ["other"], ["--help"]]) {
    const { said, ended } = start(args, { ALLOW: "example.com", BOXMAKER_ALLOW_PRIVATE: "1" });
    assert.deepEqual(await ended, [2, null]);
    assert.equal(said.stdout, "");
    assert.match(said.stderr, /^(?:toolkit|egress-proxy): [^\n]+\n$/u);
  }
});
