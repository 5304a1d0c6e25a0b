import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readToml } from "@boxmaker/edge/toml";
import { layoutOf } from "../../src/home/layout.ts";
import { makeHome } from "../../src/home/make-home.ts";

test("makeHome() makes a private home with notes and grants, and never writes over what is there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "boxmaker-home-"));
  try {
    const result = layoutOf(join(folder, 'a "home" \\ here'));
    assert.ok(result.kind === "ok");
    const { layout } = result;
    assert.deepEqual(await makeHome(layout), { kind: "made", isNew: true });
    assert.equal((await stat(layout.home)).mode & 0o777, 0o700);
    const grants = await readdir(layout.grants);
    assert.deepEqual(grants.toSorted(), ["no-diary.toml", "read-notes.toml", "shell-in-notes.toml", "write-notes.toml"]);
    for (const name of grants) {
      const text = await readFile(join(layout.grants, name), "utf8");
      assert.equal(readToml(text).kind, "value", `${name} is TOML whatever the home is called`);
      assert.equal((await stat(join(layout.grants, name))).mode & 0o777, 0o600);
    }
    for (const name of ["tools.toml", "labels.toml"]) {
      const text = await readFile(join(layout.home, "etc", name), "utf8");
      const reading = readToml(text);
      assert.ok(reading.kind === "value");
      assert.deepEqual(reading.value, {});
      const shown = text
        .split("\n")
        .slice(2)
        .map((line) => line.replace(/^# ?/u, ""));
      assert.equal(readToml(shown.join("\n")).kind, "value", `${name} shows what can be written there`);
    }
    await unlink(join(layout.grants, "read-notes.toml"));
    await writeFile(join(layout.notes, "todo.md"), "mine");
    assert.deepEqual(await makeHome(layout), { kind: "made", isNew: false });
    assert.equal(await readFile(join(layout.notes, "todo.md"), "utf8"), "mine");
    assert.equal((await readdir(layout.grants)).includes("read-notes.toml"), false, "a grant that was deleted stays deleted");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** The problem of a home that is refused. */
async function problemOf(home: string): Promise<string> {
  const result = layoutOf(home);
  assert.ok(result.kind === "ok");
  const making = await makeHome(result.layout);
  assert.ok(making.kind === "refused", home);
  assert.doesNotMatch(making.problem, /\n/u);
  return making.problem;
}

test("makeHome() refuses a folder of other things, and writes nothing into it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "boxmaker-home-"));
  try {
    await writeFile(join(folder, "thesis.tex"), "mine");
    assert.match(await problemOf(folder), /it holds "thesis\.tex", expected a new or empty folder/u);
    assert.deepEqual(await readdir(folder), ["thesis.tex"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("makeHome() goes on with a home that was begun, and with one that holds other things besides", async () => {
  const folder = await mkdtemp(join(tmpdir(), "boxmaker-home-"));
  try {
    const result = layoutOf(folder);
    assert.ok(result.kind === "ok");
    await mkdir(join(folder, "memory"));
    assert.deepEqual(await makeHome(result.layout), { kind: "made", isNew: true });
    await writeFile(join(folder, "my.txt"), "mine");
    assert.deepEqual(await makeHome(result.layout), { kind: "made", isNew: false });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("makeHome() says in one line why a home can't be made, and comes to an end where no folder can be", async () => {
  const folder = await mkdtemp(join(tmpdir(), "boxmaker-home-"));
  try {
    await writeFile(join(folder, "file"), "");
    assert.match(await problemOf(join(folder, "file")), /EEXIST/u);
    assert.match(await problemOf(join(folder, "file/below")), /ENOTDIR/u);
    assert.match(await problemOf("/proc/boxmaker-home/below"), /ENOENT/u);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
