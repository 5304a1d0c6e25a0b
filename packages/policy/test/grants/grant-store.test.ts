/** What makes a set of grants: its files, the rules between them, and the places that they name. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { CountingFiles, grantText, idsOf, problemsOf, TempDirectory } from "./temp-directory.ts";

describe("GrantStore.current()", () => {
  test("gives the grants of all *.toml files with name, text and hash, sorted by name", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("b");
    directory.writeGrant("a");
    directory.write("notes.txt", "not a grant");
    directory.write("a.toml~", "not a grant");
    directory.write(".a.toml.swp", "not a grant");
    mkdirSync(join(directory.path, "old"));
    const set = await directory.store().current();
    assert.ok(set.kind === "valid");
    assert.deepEqual(idsOf(set), ["a", "b"]);
    const text = grantText("a", "/srv/a");
    assert.deepEqual(set.grants[0] && { ...set.grants[0], grant: undefined }, {
      file: "a.toml",
      text,
      sha256: sha256(text),
      grant: undefined,
    });
  });

  test("takes an empty directory for a valid empty set", async () => {
    using directory = new TempDirectory();
    assert.deepEqual(await directory.store().current(), {
      kind: "valid",
      grants: [],
      otherwise: new Map(),
      labels: [],
      files: [],
    });
  });

  test("takes a missing directory for a problem, not for an empty one", async () => {
    using directory = new TempDirectory();
    const missing = AbsPath.parse(`${directory.path}/none`);
    assert.match((await problemsOf(directory.store({ directory: missing }))).join("\n"), /^none:1: no such folder/u);
  });

  test("takes a file in the directory's place for a problem", async () => {
    using directory = new TempDirectory();
    const file = AbsPath.parse(directory.write("x", ""));
    assert.deepEqual(await problemsOf(directory.store({ directory: file })), ["x:1: is no folder"]);
  });

  test("makes the whole set invalid for one invalid file", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    directory.write("b.toml", "id = 1");
    assert.equal((await directory.store().current()).kind, "invalid");
  });

  test("lists the problems of all files, sorted by file and line, each once", async () => {
    using directory = new TempDirectory();
    directory.write("b.toml", `${grantText("b", "/srv/b")}x = 1\n`);
    directory.write("a.toml", `colour = 1\n${grantText("A", "/srv/a")}`);
    assert.deepEqual(await problemsOf(directory.store()), [
      'a.toml:1: unknown key "colour"',
      `a.toml:2: id: expected 1 to 64 of a-z, 0-9 and '-', got "A"`,
      'b.toml:6: unknown key "x"',
    ]);
  });

  test("compares what could be read of an invalid file with the other files", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    directory.write("b.toml", `colour = 1\n${grantText("a", "/srv/b")}`);
    assert.deepEqual(await problemsOf(directory.store()), [
      `a.toml:1: id: "a" is also the id in ${directory.path}/b.toml`,
      'b.toml:1: unknown key "colour"',
      `b.toml:2: id: "a" is also the id in ${directory.path}/a.toml`,
    ]);
  });
});

describe("GrantStore.current() refuses a path", () => {
  const permit = (tool: string, at: string, mode = "auto"): string =>
    `id = "${tool.replace("_", "-")}-${mode}"\ntool = "${tool}"\nmode = "${mode}"\n[constraints]\npaths = ["${at}"]\n`;

  for (const [outer, tool] of [
    ["write_file", "read_file"],
    ["shell", "read_file"],
    ["shell", "write_file"],
  ] as const) {
    test(`of ${tool} strictly inside a writable one of ${outer}`, async () => {
      using directory = new TempDirectory();
      directory.write("outer.toml", permit(outer, "/srv/notes"));
      directory.write("inner.toml", permit(tool, "/srv/notes/sub", "ask"));
      assert.match(
        (await problemsOf(directory.store())).join("\n"),
        /^inner\.toml:5: .*"\/srv\/notes\/sub" lies in "\/srv\/notes", which .*outer\.toml lets a box write/u,
      );
    });
  }

  test("inside a writable one of the same grant", async () => {
    using directory = new TempDirectory();
    directory.write("a.toml", 'id = "a"\ntool = "shell"\nmode = "ask"\n[constraints]\npaths = [\n"/srv/a",\n"/srv/a/b"]\n');
    assert.match((await problemsOf(directory.store())).join("\n"), /^a\.toml:7: .*which this grant lets a box write/u);
  });

  test("but not the same path twice, a deny inside, nor one inside a path that is only read", async () => {
    using directory = new TempDirectory();
    directory.write("shell.toml", permit("shell", "/srv/notes", "ask"));
    directory.write("same.toml", permit("write_file", "/srv/notes"));
    directory.write("deny.toml", permit("read_file", "/srv/notes/diary", "deny"));
    directory.write("read.toml", permit("read_file", "/srv"));
    assert.deepEqual(await problemsOf(directory.store()), []);
  });

  for (const [relation, at] of [
    ["is", "/home/box/run"],
    ["lies in", "/home/box/run/admin"],
    ["holds", "/home"],
  ] as const) {
    test(`that ${relation} one of the box's own`, async () => {
      using directory = new TempDirectory();
      directory.write("a.toml", grantText("a", at));
      assert.deepEqual(await problemsOf(directory.store()), [
        `a.toml:5: constraints.paths: "${at}" ${relation} the box's own "/home/box/run", which no grant may name`,
      ]);
    });
  }

  test("that lies in the grants directory", async () => {
    using directory = new TempDirectory();
    directory.write("a.toml", grantText("a", `${directory.path}/sub`));
    assert.match((await problemsOf(directory.store())).join("\n"), /lies in the box's own/u);
  });

  test("that names the box's own directory by its real place, where the configuration goes through a link", async () => {
    using directory = new TempDirectory();
    using home = new TempDirectory();
    mkdirSync(join(home.path, "real/run"), { recursive: true });
    symlinkSync("real", join(home.path, "link"));
    directory.write("a.toml", grantText("a", `${home.path}/real/run/later`));
    const forbidden = [AbsPath.parse(`${home.path}/link/run/later/still`)];
    assert.match(
      (await problemsOf(directory.store({ forbidden }))).join("\n"),
      /holds the box's own ".*\/real\/run\/later\/still"/u,
    );
  });

  test("with a link in any component, whatever the mode", async () => {
    using directory = new TempDirectory();
    using place = new TempDirectory();
    mkdirSync(join(place.path, "real/sub"), { recursive: true });
    symlinkSync("real", join(place.path, "link"));
    symlinkSync("nowhere", join(place.path, "dangling"));
    const text = permit("read_file", `${place.path}/link/sub`, "deny");
    directory.write("a.toml", text.replace("paths = [", `paths = ["${place.path}/dangling", `));
    assert.deepEqual(await problemsOf(directory.store()), [
      `a.toml:5: constraints.paths: "${place.path}/dangling" leads through the link "${place.path}/dangling"; name the real place`,
      `a.toml:5: constraints.paths: "${place.path}/link/sub" leads through the link "${place.path}/link"; name the real place`,
    ]);
  });

  test("that is put right outside of the directory at the next call", async () => {
    using directory = new TempDirectory();
    using place = new TempDirectory();
    symlinkSync("/srv", join(place.path, "notes"));
    directory.write("a.toml", grantText("a", `${place.path}/notes`));
    const files = new CountingFiles();
    const store = directory.store({ files });
    assert.equal((await store.current()).kind, "invalid");
    unlinkSync(join(place.path, "notes"));
    assert.equal((await store.current()).kind, "valid");
    assert.equal(files.reads.length, 1);
  });

  test("of write_file that is a file, unless it is denied", async () => {
    using directory = new TempDirectory();
    using place = new TempDirectory();
    const file = place.write("a.md", "");
    directory.write("a.toml", permit("write_file", file));
    const store = directory.store();
    assert.match((await problemsOf(store)).join("\n"), /a\.md" is no folder, so no write ever matches it/u);
    directory.write("a.toml", permit("write_file", file, "deny"));
    assert.deepEqual(await problemsOf(store), []);
  });

  test("of what no box can have, such as a FIFO, unless it is denied", async () => {
    using directory = new TempDirectory();
    using place = new TempDirectory();
    const fifo = join(place.path, "fifo");
    assert.equal(spawnSync("mkfifo", [fifo]).status, 0);
    directory.write("a.toml", grantText("a", fifo));
    const store = directory.store();
    assert.deepEqual(await problemsOf(store), [
      `a.toml:5: constraints.paths: "${fifo}" is neither a file nor a folder, so no box can have it; name a folder`,
    ]);
    directory.write("a.toml", grantText("a", fifo).replace("auto", "deny"));
    assert.deepEqual(await problemsOf(store), []);
  });

  test("below a file", async () => {
    using directory = new TempDirectory();
    using place = new TempDirectory();
    directory.write("a.toml", grantText("a", `${place.write("a.md", "")}/b`));
    assert.match((await problemsOf(directory.store())).join("\n"), /can't be looked at \(ENOTDIR at /u);
  });
});
