import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { lockHome } from "../../src/home/lock-socket.ts";

test("lockHome() holds a home under each of its names until it is disposed of, and leaves no file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "boxmaker-lock-"));
  const alias = `${folder}-alias`;
  try {
    await symlink(folder, alias);
    const first = await lockHome(folder);
    assert.ok(first.kind === "locked");
    assert.equal((await lockHome(folder)).kind, "held");
    assert.equal((await lockHome(alias)).kind, "held");
    await first.lock[Symbol.asyncDispose]();
    const second = await lockHome(alias);
    assert.ok(second.kind === "locked");
    await second.lock[Symbol.asyncDispose]();
    assert.deepEqual(await readdir(folder), []);
  } finally {
    await rm(alias, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
});
