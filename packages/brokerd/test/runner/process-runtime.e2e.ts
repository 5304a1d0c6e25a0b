/** The runtime without a sandbox: file tools, held by the toolkit's own checks and by Node's permission model. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type AbsPath, ToolName } from "@boxmaker/proto";
import { openRuntime } from "../../src/runner/open-runtime.ts";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { RunnerConfig } from "../../src/runner/runner-config.ts";
import type { RunOutcome, Runtime } from "../../src/runner/runtime.ts";
import { type CallOptions, decideCall } from "./decisions.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

describe("the process runtime", () => {
  let home: TemporaryFolder;
  let runtime: Runtime;

  const open = async (config: object = {}): Promise<Runtime> => {
    const opening = await openRuntime(RunnerConfig.parse({ runtime: "process", ...config }), {
      home: home.path,
      warn: () => undefined,
    });
    assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
    assert.match(opening.notices.join(), /without a sandbox/u);
    return opening.runtime;
  };

  before(async () => {
    home = temporaryFolder();
    runtime = await open();
  });

  after(async () => {
    await runtime[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  const run = (options: CallOptions): Promise<RunOutcome> =>
    runtime.run(buildRunSpec(decideCall(runtime, options)), { signal: new AbortController().signal });
  const read = (path: AbsPath, paths: readonly string[], denied: readonly string[] = []): Promise<RunOutcome> =>
    run({ tool: "read_file", arguments: { path }, paths, denied });
  const write = (path: AbsPath, content: string, paths: readonly string[]): Promise<RunOutcome> =>
    run({ tool: "write_file", arguments: { path, content }, paths });

  test("reads and writes granted files, keeping their mode", async () => {
    using folder = temporaryFolder();
    const path = folder.at("a, b.txt");
    writeFileSync(path, "old");
    chmodSync(path, 0o664);
    assert.deepEqual(await read(path, [folder.path]), { kind: "done", status: "ok", content: "old", truncated: false });
    const written = await write(path, "new", [folder.path]);
    assert.ok(written.kind === "done" && written.status === "ok", JSON.stringify(written));
    assert.equal(readFileSync(path, "utf8"), "new");
    assert.equal(statSync(path).mode & 0o7777, 0o664);
    const inner = folder.at("inner.txt");
    const made = await write(inner, "new", [folder.path]);
    assert.ok(made.kind === "done" && made.status === "ok");
    assert.equal(statSync(inner).mode & 0o7777, 0o644);
    assert.deepEqual(readdirSync(folder.path).sort(), ["a, b.txt", "inner.txt"]);
  });

  test("reads a granted file by itself", async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.at("a"), "one");
    const outcome = await read(folder.at("a"), [folder.at("a")]);
    assert.deepEqual(outcome, { kind: "done", status: "ok", content: "one", truncated: false });
  });

  test("follows no link out of its grant", async () => {
    using folder = temporaryFolder();
    mkdirSync(folder.at("grant"));
    writeFileSync(folder.at("secret"), "secret");
    symlinkSync("../secret", folder.at("grant/link"));
    symlinkSync("..", folder.at("grant/way"));
    for (const name of ["grant/link", "grant/way/secret"]) {
      const outcome = await read(folder.at(name), [folder.at("grant")]);
      assert.ok(outcome.kind === "done" && outcome.status === "failed");
      assert.match(outcome.content, /is a symbolic link to/u);
      const written = await write(folder.at(name), "x", [folder.at("grant")]);
      assert.ok(written.kind === "done" && written.status === "failed");
    }
    assert.equal(readFileSync(folder.at("secret"), "utf8"), "secret");
  });

  test("has no shell and no fetching, and says what to install", async () => {
    using folder = temporaryFolder();
    const shell = await run({ tool: "shell", arguments: { command: "true" }, paths: [folder.path] });
    assert.ok(shell.kind === "error" && shell.code === "unsupported");
    const fetched = await run({
      tool: "http_fetch",
      arguments: { url: "https://example.com/" },
      paths: [],
      hosts: ["example.com"],
    });
    assert.ok(fetched.kind === "error" && fetched.code === "unsupported");
    assert.deepEqual(
      ToolName.options.filter((tool) => runtime.canRun(tool)),
      ["read_file", "write_file"],
    );
  });

  test("refuses what it can't hold to: masked paths, patterns in names, places that the host executes", async () => {
    using folder = temporaryFolder();
    mkdirSync(folder.at("a*"));
    writeFileSync(folder.at("a*/x"), "x");
    mkdirSync(folder.at(".ssh"));
    writeFileSync(folder.at(".ssh/id"), "secret");
    const masked = await read(folder.at(".ssh/id"), [folder.path]);
    assert.ok(masked.kind === "error" && masked.code === "mount_unusable");
    const star = await read(folder.at("a*/x"), [folder.at("a*")]);
    assert.ok(star.kind === "error" && star.code === "mount_unusable");
    const hook = await write(folder.at(".envrc"), "x", [folder.path]);
    assert.ok(hook.kind === "error" && hook.code === "host_executed");
  });

  test("is stopped at its time limit", async () => {
    using folder = temporaryFolder();
    const limited = await open({ read_file_ms: 1 });
    const decision = decideCall(limited, { tool: "read_file", arguments: { path: folder.at("a") }, paths: [folder.path] });
    const outcome = await limited.run(buildRunSpec(decision), { signal: new AbortController().signal });
    assert.ok(outcome.kind === "error" && outcome.code === "timed_out");
    await limited[Symbol.asyncDispose]();
  });
});
