/** How the store reads: how many files at once, what it keeps, how long exactly it waits, and that one failure isn't the next one's. */
import assert from "node:assert/strict";
import { chmodSync, symlinkSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { type GrantFiles, type Looked, realGrantFiles } from "../../src/grants/grant-files.ts";
import { GrantStore, QUIET_MS, SETTLE_MS } from "../../src/grants/grant-store.ts";
import { CountingFiles, grantText, idsOf, problemsOf, TempDirectory, TestClock } from "./temp-directory.ts";

const NOW = Date.UTC(2027, 0, 1);

/** The disk, on which all that there is changed last at `changed`, in milliseconds since 1970. */
function filesChangedAt(changed: () => number): GrantFiles {
  return {
    ...realGrantFiles,
    look: (path): Looked => {
      const looked = realGrantFiles.look(path);
      return "ctimeNs" in looked ? { ...looked, ctimeNs: BigInt(changed()) * 1_000_000n } : looked;
    },
    read: async (path) => ({ kind: "bytes", bytes: Buffer.from(grantText(basename(path, ".toml"), "/srv/a")) }),
  };
}

describe("GrantStore.current() reads", () => {
  test("32 files at once at most, and every one of them", async () => {
    using directory = new TempDirectory();
    const ids = Array.from({ length: 70 }, (_, index) => `g${index}`);
    for (const id of ids) directory.writeGrant(id);
    let open = 0;
    let most = 0;
    const files: GrantFiles = {
      ...realGrantFiles,
      read: async (path, stamp) => {
        most = Math.max(most, ++open);
        const reading = await realGrantFiles.read(path, stamp);
        open--;
        return reading;
      },
    };
    assert.deepEqual(idsOf(await directory.store({ files }).current()), ids.toSorted());
    assert.equal(most, 32);
  });

  test("nothing of what is no file of the owner's", async () => {
    using directory = new TempDirectory();
    chmodSync(directory.writeGrant("others"), 0o666);
    symlinkSync("others.toml", join(directory.path, "link.toml"));
    const files = new CountingFiles();
    assert.equal((await problemsOf(directory.store({ files }))).length, 2);
    assert.deepEqual(files.reads, []);
  });

  test("a file that isn't UTF-8 once, as long as it doesn't change", async () => {
    using directory = new TempDirectory();
    directory.write("a.toml", Buffer.from([0xff]));
    const files = new CountingFiles();
    const store = directory.store({ files });
    for (let call = 0; call < 3; call++) assert.deepEqual(await problemsOf(store), ["a.toml:1: is not UTF-8"]);
    assert.equal(files.reads.length, 1);
  });

  test("a file again that changed while it was read, though no look sees a change, and gives none of it", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    let reads = 0;
    const files: GrantFiles = {
      ...realGrantFiles,
      read: async (path, stamp) => (reads++ === 0 ? { kind: "changed" } : realGrantFiles.read(path, stamp)),
    };
    const store = directory.store({ files });
    assert.deepEqual(await problemsOf(store), ["a.toml:1: changed while it was read"]);
    assert.deepEqual(idsOf(await store.current()), ["a"]);
    assert.equal(reads, 2);
  });

  test("no file again of an invalid set that hasn't changed, and doesn't wait either", async () => {
    using directory = new TempDirectory();
    directory.write("a.toml", "colour = 1\n");
    const clock = new TestClock(0);
    const files = new CountingFiles();
    const store = directory.store({ clock, files });
    const first = await store.current();
    clock.slept.length = 0;
    const second = await store.current();
    assert.ok(first.kind === "invalid" && second.kind === "invalid");
    assert.deepEqual(second, first);
    assert.deepEqual(clock.slept, []);
    assert.equal(files.reads.length, 1);
  });

  test("what has the same name in the directory and beside it as two files", async () => {
    using directory = new TempDirectory();
    using beside = new TempDirectory();
    directory.write("tools.toml", grantText("a", "/srv/a"));
    const tools = AbsPath.parse(beside.write("tools.toml", '[shell]\notherwise = "ask"\n'));
    const store = directory.store({ tools });
    assert.deepEqual(idsOf(await store.current()), ["a"]);
    unlinkSync(tools);
    const set = await store.current();
    assert.ok(set.kind === "valid");
    assert.equal(set.otherwise?.size, 0);
  });
});

describe("GrantStore.current() waits", () => {
  for (const [age, expected] of [
    [0, [QUIET_MS]],
    [100, [QUIET_MS - 100]],
    [QUIET_MS - 1, [1]],
    [QUIET_MS, []],
    [-100, [QUIET_MS]],
  ] as const) {
    test(`${expected[0] ?? 0} ms where the last change was ${age} ms ago`, async () => {
      using directory = new TempDirectory();
      directory.writeGrant("a");
      const clock = new TestClock(NOW);
      const store = directory.store({ clock, files: filesChangedAt(() => NOW - age) });
      assert.deepEqual(idsOf(await store.current()), ["a"]);
      assert.deepEqual(clock.slept, expected);
    });
  }

  test("from the last change on, where there is one while it waits", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock(NOW);
    let changed = NOW;
    // Seen at the end of the first wait, when it is 50 ms old.
    clock.onSleep = (count) => {
      if (count === 1) changed = clock.time - 50;
    };
    const disk = filesChangedAt(() => changed);
    const readAfter: number[] = [];
    const files: GrantFiles = {
      ...disk,
      read: (path, stamp) => {
        readAfter.push(clock.slept.length);
        return disk.read(path, stamp);
      },
    };
    assert.deepEqual(idsOf(await directory.store({ clock, files }).current()), ["a"]);
    assert.deepEqual(clock.slept, [QUIET_MS, QUIET_MS - 50]);
    // Nothing is read before all of it has been left alone.
    assert.deepEqual(readAfter, [2]);
  });

  test("no longer than its deadline, to the last part of a wait, and says of the directory why it gave up", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock(NOW);
    let changed = NOW;
    clock.onSleep = () => {
      changed = clock.time - 50;
    };
    const store = directory.store({ clock, files: filesChangedAt(() => changed) });
    assert.deepEqual(await store.current(), {
      kind: "invalid",
      problems: [
        {
          file: directory.path,
          line: 1,
          problem: "keeps changing: it wasn't left alone for 250 ms within 5000 ms; stop what writes there",
        },
      ],
    });
    // 250, then 23 times 200, then what is left.
    assert.deepEqual([clock.slept.length, clock.slept.at(-2), clock.slept.at(-1)], [25, 200, 150]);
    assert.equal(
      clock.slept.reduce((sum, ms) => sum + ms, 0),
      SETTLE_MS,
    );
  });

  test("anew for what changed while it read, within the same deadline", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const clock = new TestClock(NOW);
    let changed = NOW - 1000;
    const disk = filesChangedAt(() => changed);
    const files: GrantFiles = {
      ...disk,
      read: (path, stamp) => {
        changed = clock.time;
        return disk.read(path, stamp);
      },
    };
    assert.match((await problemsOf(directory.store({ clock, files }))).join("\n"), /:1: keeps changing: /u);
    assert.deepEqual(
      clock.slept,
      Array.from({ length: SETTLE_MS / QUIET_MS }, () => QUIET_MS),
    );
  });
});

describe("GrantStore.current() after a look that failed by a bug", () => {
  const failing = (): { readonly files: GrantFiles; fails: boolean } => {
    const state = {
      fails: true,
      files: {
        ...realGrantFiles,
        list: (path: string) => {
          if (state.fails) throw new Error("a bug");
          return realGrantFiles.list(path);
        },
      },
    };
    return state;
  };

  test("looks anew", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const state = failing();
    const store = directory.store({ files: state.files });
    await assert.rejects(store.current(), /a bug/u);
    state.fails = false;
    assert.deepEqual(idsOf(await store.current()), ["a"]);
  });

  test("looks anew for a call that came while it failed", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const state = failing();
    const store = directory.store({ files: state.files });
    const first = store.current();
    const second = store.current();
    state.fails = false;
    await assert.rejects(first, /a bug/u);
    assert.deepEqual(idsOf(await second), ["a"]);
  });
});

test("GrantStore.current() shares no look with a call that came before it began", async () => {
  using directory = new TempDirectory();
  directory.writeGrant("a");
  const store = directory.store();
  const set = await store.current();
  const first = store.current();
  const second = store.current();
  await first;
  // The second look runs now: a change may have come after it.
  const third = store.current();
  assert.notEqual(second, third);
  assert.deepEqual([await second, await third], [set, set]);
});

test("GrantStore trusts the files of the process's own user unless another one is named", async () => {
  using directory = new TempDirectory();
  directory.writeGrant("a");
  const own = BigInt(process.geteuid?.() ?? 0);
  const ownedBy = (uid: bigint): GrantFiles => ({
    ...filesChangedAt(() => 0),
    look: (path) => {
      const looked = realGrantFiles.look(path);
      return "ctimeNs" in looked ? { ...looked, uid: path.startsWith(directory.path) ? uid : 0n, ctimeNs: 0n } : looked;
    },
  });
  const options = { directory: directory.path, forbidden: [], clock: new TestClock() };
  assert.deepEqual(idsOf(await new GrantStore({ ...options, files: ownedBy(own) }).current()), ["a"]);
  const others = new GrantStore({ ...options, files: ownedBy(own + 7n) });
  assert.deepEqual(
    (await problemsOf(others)).map((problem) => problem.replace(/^.*belongs/u, "belongs")),
    Array.from({ length: 2 }, () => `belongs to user ${own + 7n}: only root and user ${own} may write grants (chown it)`),
  );
});
