/** When grants are read again, and how long that waits. */
import assert from "node:assert/strict";
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { type GrantFiles, realGrantFiles } from "../../src/grants/grant-files.ts";
import { QUIET_MS, SETTLE_MS } from "../../src/grants/grant-store.ts";
import { CountingFiles, grantText, idsOf, problemsOf, TempDirectory, TestClock } from "./temp-directory.ts";

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
      "an edit through another name of the same file",
      (directory) => {
        const second = join(directory.path, "second-name");
        linkSync(join(directory.path, "a.toml"), second);
        directory.untilStampChanges("a.toml", () => writeFileSync(second, grantText("h", "/srv/a")));
      },
      ["h", "b"],
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

describe("GrantStore.current() notices at the next call, where the directory is named through a link,", () => {
  for (const place of ["the directory", "a folder that it lies in"]) {
    test(`that the link in the place of ${place} leads elsewhere`, async () => {
      using home = new TempDirectory();
      for (const name of ["one", "two"]) {
        mkdirSync(join(home.path, name, "grants"), { recursive: true, mode: 0o700 });
        home.write(`${name}/grants/${name}.toml`, grantText(name, `/srv/${name}`));
      }
      const link = join(home.path, "link");
      const targetOf = (name: string): string => (place === "the directory" ? `${name}/grants` : name);
      symlinkSync(targetOf("one"), link);
      const store = home.store({ directory: AbsPath.parse(place === "the directory" ? link : `${link}/grants`) });
      assert.deepEqual(idsOf(await store.current()), ["one"]);
      symlinkSync(targetOf("two"), `${link}-next`);
      renameSync(`${link}-next`, link);
      assert.deepEqual(idsOf(await store.current()), ["two"]);
    });
  }

  test("and never takes files of two directories for one set, though the link changes in the middle of a look", async () => {
    using home = new TempDirectory();
    for (const name of ["one", "two"]) {
      mkdirSync(join(home.path, name), { mode: 0o700 });
      for (const id of ["a", "b"]) home.write(`${name}/${id}.toml`, grantText(`${name}-${id}`, `/srv/${name}`));
    }
    const link = join(home.path, "link");
    const next = join(home.path, "next");
    symlinkSync("one", link);
    symlinkSync("two", next);
    let looks = 0;
    const files: GrantFiles = {
      ...realGrantFiles,
      look: (path) => {
        // Between the two files, and back again before the look is over.
        if (path.endsWith("/b.toml") && looks++ === 0) {
          renameSync(link, `${link}-old`);
          renameSync(next, link);
          const looked = realGrantFiles.look(path);
          renameSync(link, next);
          renameSync(`${link}-old`, link);
          return looked;
        }
        return realGrantFiles.look(path);
      },
    };
    const ids = idsOf(await home.store({ directory: AbsPath.parse(link), files }).current());
    assert.deepEqual(ids, ["one-a", "one-b"]);
  });
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
