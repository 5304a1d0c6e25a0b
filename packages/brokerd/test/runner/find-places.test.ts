import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { findPlaces } from "../../src/runner/find-places.ts";
import { layOut } from "../../src/runner/layers.ts";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { decideCall } from "./decisions.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

const RUNTIME = { name: "bubblewrap", image: null } as const;

async function find(folder: TemporaryFolder): Promise<{ hidden: readonly string[]; hostExecuted: readonly string[] }> {
  const { hidden, hostExecuted } = await findPlaces(AbsPath.parse(folder.path));
  const names = (paths: readonly AbsPath[]): readonly string[] => paths.map((path) => path.slice(folder.path.length)).sort();
  return { hidden: names(hidden), hostExecuted: names(hostExecuted) };
}

async function layersOf(folder: TemporaryFolder, paths: readonly string[] = [folder.path]): Promise<readonly string[]> {
  const layering = await layOut(buildRunSpec(decideCall(RUNTIME, { tool: "shell", arguments: { command: "true" }, paths })));
  if (layering.kind === "error") return [layering.code, layering.detail];
  return layering.layers.map(({ kind, path }) => `${kind} ${path.slice(folder.path.length)}`);
}

test("findPlaces() finds credentials and what the host executes at any depth", async () => {
  using folder = temporaryFolder();
  for (const name of ["a/b/c/.ssh", "a/repo/.git/hooks", "a/.config/gh", "a/gh", "git/hooks"]) {
    mkdirSync(folder.at(name), { recursive: true });
  }
  for (const name of ["a/b/.env", "a/b/c/.ssh/.envrc", "a/b/environment", "a/repo/.git/config"]) writeFileSync(folder.at(name), "");
  assert.deepEqual(await find(folder), {
    hidden: ["/a/.config/gh", "/a/b/.env", "/a/b/c/.ssh"],
    hostExecuted: ["/a/repo/.git/config", "/a/repo/.git/hooks"],
  });
});

test("findPlaces() isn't kept from a project by many folders beside it", async () => {
  using folder = temporaryFolder();
  for (let index = 0; index < 400; index++) mkdirSync(folder.at(`f${index}`));
  mkdirSync(folder.at("project/.git/hooks"), { recursive: true });
  assert.deepEqual((await find(folder)).hostExecuted, ["/project/.git/hooks"]);
});

test("findPlaces() looks into folders whose names aren't UTF-8 or hold control characters, and refuses what it can't cover there", async () => {
  using folder = temporaryFolder();
  for (const name of [Buffer.from([0xff]), Buffer.from("a\nb")]) {
    const odd = Buffer.concat([Buffer.from(`${folder.path}/`), name]);
    mkdirSync(odd);
    assert.deepEqual((await find(folder)).hidden, []);
    const place = Buffer.concat([odd, Buffer.from("/.env")]);
    writeFileSync(place, "");
    await assert.rejects(find(folder), /has to be covered, but can't be mounted over/u);
    rmSync(place);
  }
});

test("findPlaces() takes a link for the place that it stands in the way to, and follows none", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("x/dotfiles/gh"), { recursive: true });
  symlinkSync("dotfiles", folder.at("x/.config"));
  symlinkSync("..", folder.at("x/around"));
  assert.ok((await find(folder)).hidden.includes("/x/.config/gh"));
});

test("findPlaces() refuses a tree that is too large to look through", async () => {
  using folder = temporaryFolder();
  for (const name of ["a", "b", "c"]) mkdirSync(folder.at(name));
  await assert.rejects(findPlaces(AbsPath.parse(folder.path), 2), /more than 2 files and folders/u);
  assert.deepEqual(await findPlaces(AbsPath.parse(folder.path), 3), { hidden: [], hostExecuted: [] });
});

test("layOut() hides credentials deep below a command's mounts, unless the grant names them", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("a/b"), { recursive: true });
  writeFileSync(folder.at("a/b/.env"), "");
  assert.deepEqual(await layersOf(folder), ["writable ", "pin /a", "pin /a/b", "empty_file /a/b/.env"]);
  const named = await layersOf(folder, [folder.path, folder.at("a/b/.env")]);
  assert.deepEqual(named, ["writable ", "pin /a", "pin /a/b", "writable /a/b/.env"]);
});

test("layOut() keeps what the host executes read-only deep below a command's mounts", async () => {
  using folder = temporaryFolder();
  mkdirSync(folder.at("group/project/.git/hooks"), { recursive: true });
  assert.ok((await layersOf(folder)).includes("read_only /group/project/.git/hooks"));
});

test("layOut() isn't stopped by a place that is a link to itself", async () => {
  using folder = temporaryFolder();
  symlinkSync(".ssh", folder.at(".ssh"));
  assert.deepEqual(await layersOf(folder), ["writable "]);
});

test("layOut() refuses a box that would have more layers than its command line can hold", async () => {
  using folder = temporaryFolder();
  for (let index = 0; index < 501; index++) {
    mkdirSync(folder.at(`f${index}`));
    writeFileSync(folder.at(`f${index}/.env`), "");
  }
  assert.deepEqual(await layersOf(folder), ["mount_unusable", "more than 1000 places below the mounts have to be covered"]);
});
