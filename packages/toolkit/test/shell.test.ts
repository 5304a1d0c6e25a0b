import assert from "node:assert/strict";
import { readdirSync, realpathSync } from "node:fs";
import { test } from "node:test";
import { MAX_OUTPUT, shell } from "../src/shell.ts";
import { temporaryFolder } from "./temporary-folder.ts";

async function run(command: string, cwd?: string, cap: number = MAX_OUTPUT): Promise<string> {
  const { status, content } = await shell(command, cwd, cap);
  return status === "ok" ? content : `FAILED ${content}`;
}

test("shell shows both streams in the order they were written, and the exit status", async () => {
  assert.equal(await run("echo a; echo b >&2; echo c; exit 3"), "a\nb\nc\n[exit status 3]");
  assert.equal(await run("printf unended"), "unended\n[exit status 0]");
  assert.equal(await run(":"), "[exit status 0]");
});

test("shell reports any exit status as a result, podman's own included", async () => {
  for (const status of [1, 2, 125, 126, 127, 255]) assert.equal(await run(`exit ${status}`), `[exit status ${status}]`);
});

test("shell names the signal that ended the command", async () => {
  assert.equal(await run("echo a; kill -9 $$"), "a\n[killed by SIGKILL]");
});

test("shell gives the command pipes that can be opened by name, and an empty standard input", async () => {
  assert.equal(await run("echo a > /dev/stdout; echo b > /dev/stderr; cat; tty"), "a\nb\nnot a tty\n[exit status 1]");
});

test("shell keeps the first bytes of a flood and says how many it dropped", async () => {
  const { content, truncated } = await shell("head -c 3000000 /dev/zero | tr '\\0' x", undefined, MAX_OUTPUT);
  assert.equal(truncated, true);
  assert.equal(content, `${"x".repeat(MAX_OUTPUT)}\n[1951424 more bytes were dropped]\n[exit status 0]`);
  const exact = await shell("head -c 100 /dev/zero | tr '\\0' x", undefined, 100);
  assert.deepEqual(exact, { status: "ok", content: `${"x".repeat(100)}\n[exit status 0]`, truncated: false });
});

test("shell replaces what is not UTF-8, and drops a character that the cap cut in two", async () => {
  assert.equal(await run("printf 'a\\377b'"), "a\u{FFFD}b\n[exit status 0]");
  assert.equal(await run("printf 'ab\\303\\274c'", undefined, 3), "ab\n[2 more bytes were dropped]\n[exit status 0]");
});

test("shell keeps its exit status, and to its cap, when every byte becomes three", async () => {
  const { content, truncated } = await shell("head -c 1000 /dev/zero | tr '\\0' '\\377'; exit 3", undefined, 1024);
  assert.equal(content, `${"\u{FFFD}".repeat(341)}\n[659 more bytes were dropped]\n[exit status 3]`);
  assert.equal(truncated, true);
});

test("shell reads to the end of what a background process writes", async () => {
  assert.equal(await run("(sleep 0.2; echo late) & echo early"), "early\nlate\n[exit status 0]");
});

test("shell runs in the given folder, or in /tmp", async () => {
  using folder = temporaryFolder();
  assert.equal(await run("pwd", folder.path), `${folder.path}\n[exit status 0]`);
  assert.equal(await run("pwd -P"), `${realpathSync("/tmp")}\n[exit status 0]`);
  const missing = `${folder.path}/none`;
  assert.equal(await run("pwd", missing), `FAILED shell: ${missing}: no such directory`);
});

test("shell refuses a command that the kernel would not take", async () => {
  assert.match(await run(`: ${"x".repeat(200_000)}`), /^FAILED shell: \/bin\/sh: the command is too long/u);
});

test("shell leaves nothing in /tmp", async () => {
  await run("true");
  assert.deepEqual(
    readdirSync("/tmp").filter((name) => name.startsWith("boxmaker-pipe-")),
    [],
  );
});
