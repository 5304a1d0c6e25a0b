import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { BoxDone, BoxRun, decodeMessage, encodeMessage } from "@boxmaker/proto";
import { temporaryFolder } from "./temporary-folder.ts";

/** The bundle, which is what boxes get: `node tools/bundle-toolkit.ts` makes it, and the test run does so first. */
const MAIN = join(import.meta.dirname, "..", "dist", "toolkit.mjs");

interface End {
  readonly status: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

function runToolkit(input: Uint8Array): End {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN], { input });
  return { status, stdout, stderr: stderr.toString("utf8") };
}

function frame(request: unknown, roots: readonly string[], mounts: readonly object[] | null = null): Buffer {
  const message = BoxRun.parse({ kind: "box_run", body: { request, roots, mounts, output_cap: 1000, fetch: null } });
  return encodeMessage(BoxRun, { id: 7, final: true, message });
}

function body(end: End): unknown {
  const decoded = decodeMessage(BoxDone, end.stdout.subarray(4));
  assert.ok(decoded.kind === "message", decoded.kind);
  assert.equal(decoded.envelope.id, 7);
  return decoded.envelope.message.body;
}

test("the toolkit answers a result with status 0 and a tool's own error with 1", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  writeFileSync(path, "hello");
  const done = runToolkit(frame({ tool: "read_file", arguments: { path } }, [folder.path]));
  assert.equal(done.status, 0);
  assert.deepEqual(body(done), { status: "ok", content: "hello", truncated: false });
  const failed = runToolkit(frame({ tool: "read_file", arguments: { path } }, []));
  assert.equal(failed.status, 1);
  assert.deepEqual(body(failed), { status: "failed", content: `read_file: ${path}: outside the granted paths`, truncated: false });
});

test("the toolkit does nothing where what is mounted isn't what was decided about, or isn't there, or isn't hidden", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  writeFileSync(path, "hello");
  const identity = (at: string): string => {
    const { dev, ino } = statSync(at, { bigint: true });
    return `${dev}:${ino}`;
  };
  const shown = { path: folder.path, source: identity(folder.path), shown: true };
  const call = (...mounts: readonly object[]): unknown =>
    body(runToolkit(frame({ tool: "read_file", arguments: { path } }, [folder.path], mounts)));
  const done = { status: "ok", content: "hello", truncated: false };
  const failed = (at: string): object => {
    return { status: "failed", content: `read_file: ${at}: is something else than what was decided about`, truncated: false };
  };
  assert.deepEqual(call(shown), done);
  assert.deepEqual(call({ ...shown, source: "1:1" }), failed(folder.path));
  assert.deepEqual(call(shown, { path: "/none", source: "1:1", shown: true }), failed("/none"));
  assert.deepEqual(call(shown, { path: "/none", source: "1:1", shown: false }), failed("/none"));
  assert.deepEqual(call(shown, { path, source: "1:1", shown: false }), done);
  assert.deepEqual(call(shown, { path, source: identity(path), shown: false }), failed(path));
});

test("the toolkit runs a command, and its exit status stays the tool's own", () => {
  const end = runToolkit(frame({ tool: "shell", arguments: { command: "echo hi; exit 125" } }, []));
  assert.equal(end.status, 0);
  assert.deepEqual(body(end), { status: "ok", content: "hi\n[exit status 125]", truncated: false });
});

/** Whether a process holds a pipe that has no name any more. */
function holdsPipe(process: number | undefined): boolean {
  const names = readdirSync(`/proc/${process}/fd`);
  return names.some((name) => {
    try {
      return /\/boxmaker-pipe-\w+\/output \(deleted\)$/u.test(readlinkSync(`/proc/${process}/fd/${name}`));
    } catch {
      // It was closed since the folder was read.
      return false;
    }
  });
}

for (const [request, content] of [
  [{ tool: "shell", arguments: { command: "ls -l /proc/$$/fd | grep -c boxmaker-pipe" } }, /^2\n\[exit status 0\]$/u],
  [{ tool: "shell", arguments: { command: "cat; echo out; echo err >&2" } }, /^out\nerr\n\[exit status 0\]$/u],
  [{ tool: "read_file", arguments: { path: "/none/file" } }, /^read_file: \/none\/file: outside the granted paths$/u],
] as const) {
  test(`the toolkit that has waited for its request answers as any other: ${JSON.stringify(request)}`, async () => {
    const child = spawn(process.execPath, [MAIN], { stdio: ["pipe", "pipe", "inherit"] });
    const output = buffer(child.stdout);
    try {
      // What it does last before the request comes.
      while (!holdsPipe(child.pid)) await pause(5);
    } finally {
      child.stdin.end(frame(request, []));
    }
    const decoded = decodeMessage(BoxDone, (await output).subarray(4));
    assert.ok(decoded.kind === "message");
    assert.equal(decoded.envelope.id, 7);
    assert.match(decoded.envelope.message.body.content, content);
  });
}

test("the toolkit doesn't fetch without a way to the network", () => {
  const end = runToolkit(frame({ tool: "http_fetch", arguments: { url: "https://example.com/" } }, []));
  assert.equal(end.status, 1);
  assert.deepEqual(body(end), {
    status: "failed",
    content: "http_fetch: https://example.com/: this box has no way to the network",
    truncated: false,
  });
});

test("the toolkit ends with 2 and one line where it isn't given exactly one request", () => {
  const good = frame({ tool: "shell", arguments: { command: "true" } }, []);
  const inputs: readonly (readonly [Buffer, RegExp])[] = [
    [Buffer.alloc(0), /got a stream that is closed$/u],
    [good.subarray(0, 3), /got a stream that is truncated$/u],
    [good.subarray(0, 20), /got a stream that is truncated$/u],
    [Buffer.concat([good, good]), /got more bytes after it$/u],
    [Buffer.from([0xff, 0xff, 0xff, 0xff]), /got 4294967295 bytes$/u],
    [Buffer.from([0, 0, 0, 2, 0x7b, 0x7d]), /expected an envelope$/u],
    [Buffer.from([0, 0, 0, 1, 0xff]), /not UTF-8$/u],
  ];
  for (const [input, expected] of inputs) {
    const end = runToolkit(input);
    assert.equal(end.status, 2);
    assert.equal(end.stdout.length, 0);
    assert.match(end.stderr, /^toolkit: [^\n]+\n$/u);
    assert.match(end.stderr.trimEnd(), expected);
  }
});
