import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
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
    assert.equal(await makeHome(layout), true);
    assert.equal((await stat(layout.home)).mode & 0o777, 0o700);
    const grants = await readdir(layout.grants);
    assert.deepEqual(grants.toSorted(), ["no-diary.toml", "read-notes.toml", "shell-in-notes.toml", "write-notes.toml"]);
    for (const name of grants) {
      const text = await readFile(join(layout.grants, name), "utf8");
      assert.equal(readToml(text).kind, "value", `${name} is TOML whatever the home is called`);
      assert.equal((await stat(join(layout.grants, name))).mode & 0o777, 0o600);
    }
    await unlink(join(layout.grants, "read-notes.toml"));
    await writeFile(join(layout.notes, "todo.md"), "mine");
    assert.equal(await makeHome(layout), false);
    assert.equal(await readFile(join(layout.notes, "todo.md"), "utf8"), "mine");
    assert.equal((await readdir(layout.grants)).includes("read-notes.toml"), false, "a grant that was deleted stays deleted");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
