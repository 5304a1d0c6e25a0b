/** The set of grants as it is on the disk: validity between files, places, permissions, and when it is read. */
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { type GrantFiles, realGrantFiles } from "../../src/grants/grant-files.ts";
import { type GrantSet, type GrantStore, QUIET_MS, SETTLE_MS } from "../../src/grants/grant-store.ts";
import { grantText, TempDirectory, TestClock } from "./temp-directory.ts";

function idsOf(set: GrantSet): readonly string[] {
  return set.kind === "valid" ? set.grants.map(({ grant }) => grant.id) : assert.fail(JSON.stringify(set.problems));
}

/** `file:line: problem` of each problem, with the name of the file only. */
async function problemsOf(store: GrantStore): Promise<readonly string[]> {
  const set = await store.current();
  if (set.kind === "valid") return [];
  return set.problems.map(({ file, line, problem }) => `${file.slice(file.lastIndexOf("/") + 1)}:${line}: ${problem}`);
}

/** The disk, with a count of the files that are read. */
class CountingFiles implements GrantFiles {
  readonly reads: string[] = [];
  readonly look = realGrantFiles.look;
  readonly list = realGrantFiles.list;
  readonly realPath = realGrantFiles.realPath;
  onRead: (path: string) => void = () => undefined;

  async read(path: string, stamp: Parameters<GrantFiles["read"]>[1]): ReturnType<GrantFiles["read"]> {
    this.reads.push(path);
    this.onRead(path);
    return realGrantFiles.read(path, stamp);
  }
}

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
    assert.deepEqual(await directory.store().current(), { kind: "valid", grants: [] });
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
      "a.toml:2: id: expected 1 to 64 of a-z, 0-9 and '-'",
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

  test("below a file", async () => {
    using directory = new TempDirectory();
    using place = new TempDirectory();
    directory.write("a.toml", grantText("a", `${place.write("a.md", "")}/b`));
    assert.match((await problemsOf(directory.store())).join("\n"), /can't be looked at \(ENOTDIR at /u);
  });
});

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

describe("GrantStore.current() notices at the next call", () => {
  const changes: readonly (readonly [string, (directory: TempDirectory) => void, readonly string[]])[] = [
    ["a new file", (directory) => void directory.writeGrant("c"), ["a", "b", "c"]],
    ["a removed file", (directory) => unlinkSync(join(directory.path, "a.toml")), ["b"]],
    ["a renamed file", (directory) => renameSync(join(directory.path, "a.toml"), join(directory.path, "z.toml")), ["b", "a"]],
    [
      "a file renamed away from *.toml",
      (directory) => renameSync(join(directory.path, "a.toml"), join(directory.path, "a.off")),
      ["b"],
    ],
    [
      "an edit in place of the same size",
      (directory) => directory.untilStampChanges("a.toml", (path) => writeFileSync(path, grantText("x", "/srv/a"))),
      ["x", "b"],
    ],
    [
      "an edit in place of the same size and the same mtime",
      (directory) =>
        directory.untilStampChanges("a.toml", (path, mtime) => {
          writeFileSync(path, grantText("x", "/srv/a"));
          utimesSync(path, mtime, mtime);
        }),
      ["x", "b"],
    ],
    [
      "an editor's save: written aside, renamed over",
      (directory) => {
        directory.write(".a.toml.tmp", grantText("y", "/srv/a"));
        renameSync(join(directory.path, ".a.toml.tmp"), join(directory.path, "a.toml"));
      },
      ["y", "b"],
    ],
    [
      "another directory in the place of this one",
      (directory) => {
        const path = directory.path;
        rmSync(path, { recursive: true });
        mkdirSync(path, { mode: 0o700 });
        directory.writeGrant("new");
      },
      ["new"],
    ],
  ];
  for (const [name, change, expected] of changes) {
    test(name, async () => {
      using directory = new TempDirectory();
      directory.writeGrant("a");
      directory.writeGrant("b");
      directory.touch("a.toml", new Date("2020-01-01"));
      const store = directory.store();
      assert.deepEqual(idsOf(await store.current()), ["a", "b"]);
      change(directory);
      assert.deepEqual(idsOf(await store.current()), expected);
    });
  }
});

describe("GrantStore.current() reads", () => {
  test("no file again of 1,000 that haven't changed, and gives the same set", async () => {
    using directory = new TempDirectory();
    for (let index = 0; index < 1000; index++) directory.writeGrant(`g${index}`);
    const files = new CountingFiles();
    const store = directory.store({ files });
    const first = await store.current();
    assert.equal(idsOf(first).length, 1000);
    assert.equal(files.reads.length, 1000);
    for (let call = 0; call < 3; call++) assert.equal(await store.current(), first);
    assert.equal(files.reads.length, 1000);
  });

  test("only the file that changed", async () => {
    using directory = new TempDirectory();
    for (const id of ["a", "b", "c"]) directory.writeGrant(id);
    const files = new CountingFiles();
    const store = directory.store({ files });
    await store.current();
    directory.writeGrant("b", 'label = "public"\n');
    assert.equal((await store.current()).kind, "valid");
    assert.deepEqual(files.reads.slice(3), [join(directory.path, "b.toml")]);
  });

  test("once for calls that come while it hasn't begun, and anew for one that comes after", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const files = new CountingFiles();
    let looks = 0;
    const counting: GrantFiles = {
      look: files.look,
      realPath: files.realPath,
      read: (path, stamp) => files.read(path, stamp),
      list: (path) => {
        looks++;
        return files.list(path);
      },
    };
    const store = directory.store({ files: counting });
    await store.current();
    looks = 0;
    const running = store.current();
    const [second, third] = [store.current(), store.current()];
    assert.equal(second, third);
    await Promise.all([running, second, third]);
    assert.equal(looks, 2);
  });

  test("what was written after the call before it began", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock();
    const store = directory.store({ clock });
    await store.current();
    const running = store.current();
    directory.writeGrant("b");
    const after = store.current();
    assert.deepEqual(idsOf(await running), ["a"]);
    assert.deepEqual(idsOf(await after), ["a", "b"]);
  });
});

describe("GrantStore.current() waits", () => {
  test("not at all for a directory that has been left alone long enough", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock();
    await directory.store({ clock }).current();
    assert.deepEqual(clock.slept, []);
  });

  test(`the ${QUIET_MS} ms where the last change may be later than now, as of a clock that was set back`, async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock(0);
    assert.deepEqual(idsOf(await directory.store({ clock }).current()), ["a"]);
    assert.equal(
      clock.slept.reduce((sum, ms) => sum + ms, 0),
      QUIET_MS,
    );
  });

  test("through an editor's save that has the file gone for a moment, so that a deny is never missed", async () => {
    using directory = new TempDirectory();
    const deny = grantText("no", "/srv/a").replace("auto", "deny");
    directory.writeGrant("a");
    directory.write("no.toml", deny);
    const clock = new TestClock(0);
    const store = directory.store({ clock });
    assert.deepEqual(idsOf(await store.current()), ["a", "no"]);
    unlinkSync(join(directory.path, "no.toml"));
    clock.slept.length = 0;
    clock.onSleep = (count) => {
      if (count === 1) directory.write("no.toml", deny);
    };
    assert.deepEqual(idsOf(await store.current()), ["a", "no"]);
    assert.deepEqual(clock.slept, [QUIET_MS, QUIET_MS]);
  });

  test(`${SETTLE_MS} ms at most, then denies rather than read what keeps changing`, async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock(0);
    const store = directory.store({ clock });
    await store.current();
    let round = 0;
    clock.onSleep = () => void directory.write("b.toml", grantText("b", "/srv/b", `# ${"x".repeat(round++)}\n`));
    directory.writeGrant("a", "# changed\n");
    clock.slept.length = 0;
    const problems = await problemsOf(store);
    assert.match(problems.join("\n"), /:1: keeps changing: it wasn't left alone for 250 ms within 5000 ms/u);
    assert.equal(
      clock.slept.reduce((sum, ms) => sum + ms, 0),
      SETTLE_MS,
    );
    clock.onSleep = () => undefined;
    assert.deepEqual(idsOf(await store.current()), ["a", "b"]);
  });

  test("again where something changes while it reads", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    directory.writeGrant("b");
    const files = new CountingFiles();
    files.onRead = (path) => {
      files.onRead = () => undefined;
      writeFileSync(join(dirname(path), "c.toml"), grantText("c", "/srv/c"), { mode: 0o600 });
    };
    assert.deepEqual(idsOf(await directory.store({ files }).current()), ["a", "b", "c"]);
  });
});
