/** Whose files and folders grants are taken from. */
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { problemsOf, TempDirectory } from "./temp-directory.ts";

describe("GrantStore.current() trusts only what root and the owner can write", () => {
  const OWNER = process.geteuid?.() ?? 0;

  for (const mode of [0o620, 0o602, 0o666]) {
    test(`and no file of mode ${mode.toString(8)}`, async () => {
      using directory = new TempDirectory();
      chmodSync(directory.writeGrant("a"), mode);
      assert.deepEqual(await problemsOf(directory.store()), ["a.toml:1: can be written by others than its owner (chmod go-w)"]);
    });
  }

  for (const mode of [0o770, 0o707, 0o1777]) {
    test(`and no directory of mode ${mode.toString(8)}`, async () => {
      using directory = new TempDirectory();
      directory.writeGrant("a");
      chmodSync(directory.path, mode);
      assert.match(
        (await problemsOf(directory.store())).join("\n"),
        /:1: grants can't be trusted: this folder can be written by others/u,
      );
    });
  }

  test("and no parent that others can write, unless only owners can replace what lies in it", async () => {
    using parent = new TempDirectory();
    const directory = AbsPath.parse(`${parent.path}/grants`);
    mkdirSync(directory, { mode: 0o700 });
    chmodSync(parent.path, 0o777);
    assert.match(
      (await problemsOf(parent.store({ directory }))).join("\n"),
      /^boxmaker-grants-.*:1: grants can't be trusted: this folder can be/u,
    );
    chmodSync(parent.path, 0o1777);
    assert.deepEqual(await problemsOf(parent.store({ directory })), []);
  });

  test("and sees at the next call that a mode was changed", async () => {
    using directory = new TempDirectory();
    const file = directory.writeGrant("a");
    const store = directory.store();
    assert.equal((await store.current()).kind, "valid");
    chmodSync(file, 0o666);
    assert.equal((await store.current()).kind, "invalid");
    chmodSync(file, 0o600);
    assert.equal((await store.current()).kind, "valid");
  });

  test("and nothing of another user", { skip: OWNER === 0 ? false : "needs root, to give a file away" }, async () => {
    using directory = new TempDirectory();
    chownSync(directory.writeGrant("a"), 12_345, 12_345);
    assert.match(
      (await problemsOf(directory.store())).join("\n"),
      /^a\.toml:1: belongs to user 12345: only root and user 0 may write grants/u,
    );
    assert.deepEqual(await problemsOf(directory.store({ owner: 12_345 })), []);
  });

  test("and nothing of its own user where another one is the owner", {
    skip: OWNER === 0 ? "root is always trusted" : false,
  }, async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    assert.match((await problemsOf(directory.store({ owner: OWNER + 1 }))).join("\n"), /a\.toml:1: belongs to user/u);
  });
});
