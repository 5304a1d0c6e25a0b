import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type Layering, layOut } from "../../src/runner/layers.ts";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { type CallOptions, decideCall } from "./decisions.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const RUNTIME = { name: "bubblewrap", image: null } as const;

function lay(options: CallOptions, between: () => void = () => undefined): Promise<Layering> {
  const spec = buildRunSpec(decideCall(RUNTIME, options));
  between();
  return layOut(spec);
}

/** `kind path` of each layer, the paths relative to `root`. */
function describe(layering: Layering, root: string): readonly string[] {
  if (layering.kind === "error") return [layering.code, layering.detail];
  return layering.layers.map(({ kind, path }) => `${kind} ${path.slice(root.length)}`);
}

function shell(paths: readonly string[], denied: readonly string[] = [], hostExec: boolean = false): CallOptions {
  return { tool: "shell", arguments: { command: "true" }, paths, denied, hostExec };
}

test("layOut() mounts each path, parents first", async () => {
  using folder = temporaryFolder();
  for (const name of ["b", "a", "a/c"]) mkdirSync(folder.at(name));
  const paths = [folder.at("b"), folder.at("a/c"), folder.at("a")];
  assert.deepEqual(describe(await lay(shell(paths)), folder.path), ["writable /a", "writable /a/c", "writable /b"]);
});

test("layOut() hides masked files and folders that exist, and pins the folders around them", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("x/y/private"), { recursive: true });
  writeFileSync(folder.at("x/note"), "");
  mkdirSync(folder.at(".ssh"));
  const denied = [folder.at("x/y/private"), folder.at("x/note"), folder.at("x/none"), folder.at("none/at/all")];
  assert.deepEqual(describe(await lay(shell([folder.path], denied)), folder.path), [
    "writable ",
    "empty_directory /.ssh",
    "pin /x",
    "empty_file /x/note",
    "pin /x/y",
    "empty_directory /x/y/private",
  ]);
});

test("layOut() pins nothing in a box that can't rename anything", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("x/.ssh"), { recursive: true });
  const options: CallOptions = {
    tool: "read_file",
    arguments: { path: folder.at("x/a") },
    paths: [folder.path],
    denied: [],
  };
  const hidden = { ...options, arguments: { path: folder.at("a") } };
  assert.deepEqual(describe(await lay(hidden), folder.path), ["read_only "]);
});

test("layOut() hides what a masked link leads to, where the box could reach it", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("grant/config"), { recursive: true });
  writeFileSync(folder.at("grant/config/env"), "");
  mkdirSync(folder.at("outside"));
  symlinkSync("config/env", folder.at("grant/.env"));
  symlinkSync(folder.at("outside"), folder.at("grant/.ssh"));
  symlinkSync("none", folder.at("grant/.netrc"));
  assert.deepEqual(describe(await lay(shell([folder.at("grant")])), folder.at("grant")), [
    "writable ",
    "pin /config",
    "empty_file /config/env",
  ]);
});

test("layOut() mounts nothing into what is hidden", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("project/.git/hooks"), { recursive: true });
  const denied = [folder.at("project")];
  assert.deepEqual(describe(await lay(shell([folder.path], denied)), folder.path), ["writable ", "empty_directory /project"]);
});

test("layOut() makes read-only what the host executes, unless the grant says host_exec", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("project/.git/hooks"), { recursive: true });
  writeFileSync(folder.at("project/.git/config"), "");
  writeFileSync(folder.at(".envrc"), "");
  assert.deepEqual(describe(await lay(shell([folder.path])), folder.path), [
    "writable ",
    "read_only /.envrc",
    "pin /project",
    "pin /project/.git",
    "read_only /project/.git/config",
    "read_only /project/.git/hooks",
  ]);
  assert.deepEqual(describe(await lay(shell([folder.path], [], true)), folder.path), ["writable "]);
});

test("layOut() refuses write_file where the host executes, whether it exists or not", async () => {
  using folder = temporaryFolder();
  const write = async (name: string, hostExec: boolean): Promise<readonly string[]> =>
    describe(
      await lay({ tool: "write_file", arguments: { path: folder.at(name), content: "" }, paths: [folder.path], hostExec }),
      folder.path,
    );
  for (const name of ["a/.git/hooks/pre-commit", ".git/config", "x/y/.envrc", ".vscode/tasks.json"]) {
    assert.equal((await write(name, false))[0], "host_executed");
    assert.deepEqual(await write(name, true), ["writable "]);
  }
  for (const name of [".git/HEAD", "git/hooks", ".gitignore"]) assert.deepEqual(await write(name, false), ["writable "]);
});

test("layOut() refuses a mount that was replaced, removed or turned into a link after the decision", async () => {
  using folder = temporaryFolder();
  const at = folder.at("grant");
  const swaps: readonly (readonly [() => void, string])[] = [
    [() => mkdirSync(at), "is another directory than the one decided about"],
    [() => writeFileSync(at, ""), "is another file than the one decided about"],
    [() => symlinkSync("/etc", at), "leads through a symbolic link"],
    [() => undefined, "can't be found (ENOENT)"],
  ];
  for (const [swap, problem] of swaps) {
    mkdirSync(at);
    const layering = await lay(shell([at]), () => {
      // Kept, so that its inode isn't given to the new one.
      renameSync(at, folder.at("old"));
      swap();
    });
    assert.deepEqual(layering, { kind: "error", code: "mount_changed", detail: `"${at}" ${problem}` });
    rmSync(at, { recursive: true, force: true });
    rmSync(folder.at("old"), { recursive: true });
  }
});

test("layOut() refuses a mount that wasn't usable when the call was decided, even if it is now", async () => {
  using folder = temporaryFolder();
  const at = folder.at("grant");
  const layering = await lay(shell([at]), () => mkdirSync(at));
  assert.deepEqual(layering, { kind: "error", code: "mount_unusable", detail: `"${at}" can't be found (ENOENT)` });
});

test("layOut() isn't kept from a mount by a link in it that calls the mount itself a place of credentials", async () => {
  using folder = temporaryFolder();
  for (const name of ["a", "a/c", "a/d"]) mkdirSync(folder.at(name));
  // As a command in its own grant could make them.
  symlinkSync(".", folder.at("a/.ssh"));
  symlinkSync("../c", folder.at("a/d/.aws"));
  assert.deepEqual(describe(await lay(shell([folder.at("a")])), folder.path), [
    "writable /a",
    // Not named by the grant: it may be what the owner's own link means.
    "empty_directory /a/c",
  ]);
  const both = [folder.at("a"), folder.at("a/c")];
  assert.deepEqual(describe(await lay(shell(both)), folder.path), ["writable /a", "writable /a/c"]);
});

test("layOut() runs nothing where what a deny names leads to a mount, or a link of credentials to a folder around one", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("a/b/c"), { recursive: true });
  symlinkSync(".", folder.at("a/mine"));
  const denied = await lay(shell([folder.at("a")], [folder.at("a/mine")]));
  assert.ok(denied.kind === "error" && denied.code === "mount_unusable");
  symlinkSync("b", folder.at("a/.ssh"));
  const around = await lay(shell([folder.at("a"), folder.at("a/b/c")]));
  assert.ok(around.kind === "error" && around.code === "mount_unusable");
  assert.match(around.detail, /hidden and mounted at once/u);
});
