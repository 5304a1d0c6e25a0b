/** `tools.toml` and `labels.toml`: parts of one set with the grants, read and distrusted as they are. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { MAX_GRANT_BYTES } from "../../src/grants/grant-directory.ts";
import { type GrantFiles, realGrantFiles } from "../../src/grants/grant-files.ts";
import { type GrantStore, type GrantStoreOptions, QUIET_MS } from "../../src/grants/grant-store.ts";
import { CountingFiles, grantText, problemsOf, TempDirectory, TestClock } from "./temp-directory.ts";

const TOOLS = '[shell]\notherwise = "ask"\n';
const LABELS = '[[trees]]\npath = "/srv/a"\nlabel = "secret"\n';

/** A folder with a grants directory that holds one grant, and both files beside it. */
class Home extends TempDirectory {
  readonly grants: AbsPath = AbsPath.parse(`${this.path}/grants`);
  readonly tools: AbsPath = AbsPath.parse(`${this.path}/tools.toml`);
  readonly labels: AbsPath = AbsPath.parse(`${this.path}/labels.toml`);

  constructor() {
    super();
    mkdirSync(this.grants, { mode: 0o700 });
    this.write("grants/good.toml", grantText("good", "/srv/good"));
    this.write("tools.toml", TOOLS);
    this.write("labels.toml", LABELS);
  }

  override store(options: Partial<GrantStoreOptions> = {}): GrantStore {
    return super.store({ directory: this.grants, tools: this.tools, labels: this.labels, ...options });
  }
}

describe("GrantStore.current() gives with the grants", () => {
  test("what both files say, and the files themselves by fixed names that no grant file has", async () => {
    using home = new Home();
    const set = await home.store().current();
    assert.ok(set.kind === "valid");
    const shell = set.otherwise?.get("shell");
    assert.deepEqual([shell?.effect, shell?.sha256], ["ask", sha256(TOOLS)]);
    assert.deepEqual(set.labels, [{ path: "/srv/a", label: { taint: "secret", untrusted: false } }]);
    assert.deepEqual(
      set.files.map(({ file, sha256: hash, text }) => [file, hash === sha256(text)]),
      [
        ["etc/labels.toml", true],
        ["etc/tools.toml", true],
        ["good.toml", true],
      ],
    );
  });

  test("as places that no grant may name the box's own, the grants directory and both files, without links", async () => {
    using home = new Home();
    symlinkSync("run", join(home.path, "link"));
    mkdirSync(join(home.path, "run"));
    const set = await home.store({ forbidden: [AbsPath.parse(`${home.path}/link/sub`)] }).current();
    assert.ok(set.kind === "valid");
    assert.deepEqual(
      set.otherwise?.get("shell")?.reserved.map((path) => path.slice(home.path.length)),
      ["/link/sub", "/run/sub", "/grants", "/labels.toml", "/tools.toml"],
    );
  });

  test("nothing of files that aren't there, nor of a folder for them that isn't", async () => {
    using home = new Home();
    unlinkSync(home.tools);
    const labels = AbsPath.parse(`${home.path}/none/labels.toml`);
    const set = await home.store({ labels }).current();
    assert.ok(set.kind === "valid");
    assert.deepEqual([set.otherwise?.size, set.labels, set.files.map(({ file }) => file)], [0, [], ["good.toml"]]);
  });

  test("grants of the directory whose names look like theirs", async () => {
    using home = new Home();
    home.write("grants/tools.toml", grantText("t", "/srv/t"));
    home.write("grants/labels.toml", grantText("l", "/srv/l"));
    const set = await home.store().current();
    assert.ok(set.kind === "valid");
    assert.deepEqual(
      set.grants.map(({ file }) => file),
      ["good.toml", "labels.toml", "tools.toml"],
    );
  });
});

for (const name of ["tools.toml", "labels.toml"] as const) {
  const text = name === "tools.toml" ? TOOLS : LABELS;

  describe(`GrantStore.current() notices of ${name} at the next call`, () => {
    const other = text.replace("ask", "deny").replace('"secret"', '"public"');
    const sameSize = `${other}#`.padEnd(text.length + 8, "#");
    const changes: Readonly<Record<string, (home: Home, path: string) => void>> = {
      "an edit in place of the same size with its mtime set back": (home, path) =>
        home.untilStampChanges(name, (_, mtime) => {
          writeFileSync(path, sameSize);
          utimesSync(path, mtime, mtime);
        }),
      "a rename over it": (home, path) => {
        home.write("aside", sameSize);
        renameSync(join(home.path, "aside"), path);
      },
      "that it is gone": (_, path) => unlinkSync(path),
    };
    for (const [what, change] of Object.entries(changes)) {
      test(what, async () => {
        using home = new Home();
        const path = home.write(name, text.padEnd(sameSize.length, "#"));
        const store = home.store();
        const before = await store.current();
        change(home, path);
        const after = await store.current();
        assert.ok(before.kind === "valid" && after.kind === "valid");
        assert.notDeepEqual([after.otherwise, after.labels], [before.otherwise, before.labels]);
      });
    }

    test("that it has come", async () => {
      using home = new Home();
      unlinkSync(join(home.path, name));
      const store = home.store();
      const before = await store.current();
      home.write(name, text);
      const after = await store.current();
      assert.ok(before.kind === "valid" && after.kind === "valid");
      assert.equal(after.files.length, before.files.length + 1);
    });

    test("that its folder is another one", async () => {
      using home = new Home();
      mkdirSync(join(home.path, "etc"));
      const option = name === "tools.toml" ? "tools" : "labels";
      const path = AbsPath.parse(home.write(`etc/${name}`, text));
      const store = home.store({ [option]: path });
      const before = await store.current();
      rmSync(join(home.path, "etc"), { recursive: true });
      mkdirSync(join(home.path, "etc"));
      writeFileSync(path, `${text}#`, { mode: 0o600 });
      const after = await store.current();
      assert.ok(before.kind === "valid" && after.kind === "valid");
      assert.notDeepEqual(after.files, before.files);
    });
  });

  test(`GrantStore.current() reads ${name} again only where it has changed`, async () => {
    using home = new Home();
    const files = new CountingFiles();
    const store = home.store({ files });
    const first = await store.current();
    assert.equal(files.reads.length, 3);
    assert.equal(await store.current(), first);
    assert.equal(files.reads.length, 3);
    home.untilStampChanges(name, (path) => writeFileSync(path, `${text}# more\n`));
    await store.current();
    assert.deepEqual(files.reads.slice(3), [join(home.path, name)]);
  });

  test(`GrantStore.current() waits through a save that has ${name} gone for a moment`, async () => {
    using home = new Home();
    const clock = new TestClock(0);
    const store = home.store({ clock });
    const before = await store.current();
    unlinkSync(join(home.path, name));
    clock.slept.length = 0;
    clock.onSleep = (count) => {
      if (count === 1) home.write(name, text);
    };
    assert.deepEqual(await store.current(), before);
    assert.deepEqual(clock.slept, [QUIET_MS, QUIET_MS]);
  });

  test(`GrantStore.current() waits where ${name} has only just gone, though it looks the first time`, async () => {
    using home = new Home();
    const clock = new TestClock(0);
    unlinkSync(join(home.path, name));
    // All but the folder has been left alone for long.
    const old = new Date(-3_600_000);
    const files: GrantFiles = {
      ...realGrantFiles,
      look: (path) => {
        const looked = realGrantFiles.look(path);
        return "ctimeNs" in looked && path !== home.path ? { ...looked, ctimeNs: BigInt(old.getTime()) * 1_000_000n } : looked;
      },
      // The stamps are made up, so the real reading would find them changed.
      read: async (path) => ({ kind: "bytes", bytes: readFileSync(path) }),
    };
    await home.store({ clock, files }).current();
    assert.deepEqual(clock.slept, [QUIET_MS]);
  });

  describe(`GrantStore.current() says what is wrong with ${name}`, () => {
    const wrong: Readonly<Record<string, readonly [(path: string) => void, RegExp]>> = {
      "that is no TOML": [(path) => writeFileSync(path, "["), /:1: not TOML: /u],
      "that isn't UTF-8": [(path) => writeFileSync(path, Buffer.from([0x23, 0xff])), /:1: is not UTF-8$/u],
      "that is a link, even to itself or to a good one": [
        (path) => {
          unlinkSync(path);
          symlinkSync(path, path);
        },
        /:1: is a link, expected a file of its own$/u,
      ],
      "that is a folder": [
        (path) => {
          unlinkSync(path);
          mkdirSync(path);
        },
        /:1: is no regular file$/u,
      ],
      "that is a FIFO, without waiting for a writer": [
        (path) => {
          unlinkSync(path);
          assert.equal(spawnSync("mkfifo", [path]).status, 0);
        },
        /:1: is no regular file$/u,
      ],
      "that is 10 MB, without reading it": [
        (path) => writeFileSync(path, Buffer.alloc(10 * 1024 * 1024, "#")),
        new RegExp(`:1: is larger than ${MAX_GRANT_BYTES} bytes$`, "u"),
      ],
      "that others can write": [(path) => chmodSync(path, 0o622), /:1: can be written by others than its owner \(chmod go-w\)$/u],
    };
    for (const [what, [make, expected]] of Object.entries(wrong)) {
      test(what, async () => {
        using home = new Home();
        make(join(home.path, name));
        const problems = await problemsOf(home.store());
        assert.equal(problems.length, 1, problems.join("\n"));
        assert.ok(problems[0]?.startsWith(`${name}:1: `));
        assert.match(problems[0] ?? "", expected);
      });
    }

    test("whose folder others can write, once it is there", async () => {
      using home = new Home();
      const folder = join(home.path, "etc");
      mkdirSync(folder);
      chmodSync(folder, 0o777);
      const path = AbsPath.parse(join(folder, name));
      const options = name === "tools.toml" ? { tools: path } : { labels: path };
      assert.deepEqual(await problemsOf(home.store(options)), []);
      home.write(`etc/${name}`, text);
      assert.match(
        (await problemsOf(home.store(options))).join("\n"),
        /^etc:1: grants can't be trusted: this folder can be written/u,
      );
    });

    test("that vanishes while it is read: then it says nothing, and the set is whole", async () => {
      using home = new Home();
      let isGone = false;
      const files: GrantFiles = {
        ...realGrantFiles,
        read: (path, stamp) => {
          if (!isGone && path.endsWith(name)) {
            unlinkSync(path);
            isGone = true;
          }
          return realGrantFiles.read(path, stamp);
        },
      };
      const set = await home.store({ files }).current();
      assert.ok(set.kind === "valid" && isGone);
      assert.equal(set.files.length, 2);
    });

    test("together with all that is wrong with grants, sorted", async () => {
      using home = new Home();
      home.write(name, "colour = 1\n");
      home.write("grants/bad.toml", "colour = 1\n");
      const problems = await problemsOf(home.store());
      assert.deepEqual(
        problems.filter((problem) => problem.includes("colour")),
        ['bad.toml:1: unknown key "colour"', `${name}:1: unknown key "colour"`],
      );
    });
  });
}

describe("GrantStore.current() compares labels.toml with the disk and the grants:", () => {
  const shellText = (at: string, label: string): string =>
    `id = "sh"\ntool = "shell"\nmode = "ask"\nlabel = "${label}"\n[constraints]\npaths = ["${at}"]\n`;

  test("a tree may not lead through a link, which no call's path does", async () => {
    using home = new Home();
    mkdirSync(join(home.path, "real"));
    symlinkSync("real", join(home.path, "link"));
    home.write("labels.toml", `[[trees]]\npath = "${home.path}/link/tax"\nlabel = "secret"\n`);
    assert.deepEqual(await problemsOf(home.store()), [
      `labels.toml:2: trees.0.path: "${home.path}/link/tax" leads through the link "${home.path}/link"; name the real place`,
    ]);
  });

  for (const [relation, at] of [
    ['"/srv/a" is', "/srv/a"],
    ['"/srv/a/b" lies in "/srv/a", which is', "/srv/a/b"],
    ['"/srv" holds "/srv/a", which is', "/srv"],
  ] as const) {
    test(`a shell grant's label may not be below that of a tree that it mounts: ${relation}`, async () => {
      using home = new Home();
      rmSync(join(home.grants, "good.toml"));
      home.write("grants/sh.toml", shellText(at, "private"));
      assert.deepEqual(await problemsOf(home.store()), [
        `sh.toml:6: label: ${relation} secret, so the results need label = "secret"`,
      ]);
      home.write("grants/sh.toml", shellText(at, "secret"));
      assert.deepEqual(await problemsOf(home.store()), []);
    });
  }

  test("nor below that of a credential place, unless labels.toml says otherwise of that very place", async () => {
    using home = new Home();
    home.write("grants/sh.toml", shellText("/home/me/.ssh/public", "private"));
    const expected = `sh.toml:6: label: "/home/me/.ssh/public" lies in "/home/me/.ssh", which is secret, so the results need label = "secret"`;
    assert.deepEqual(await problemsOf(home.store()), [expected]);
    home.write("labels.toml", '[[trees]]\npath = "/home/me"\nlabel = "private"\n');
    assert.deepEqual(await problemsOf(home.store()), [expected]);
    for (const path of ["/home/me/.ssh", "/home/me/.ssh/public"]) {
      home.write("labels.toml", `[[trees]]\npath = "${path}"\nlabel = "private"\n`);
      assert.deepEqual(await problemsOf(home.store()), []);
    }
    home.write("labels.toml", "");
    home.write("grants/sh.toml", shellText("/home/me/.ssh", "private").replace('"ask"', '"deny"'));
    assert.deepEqual(await problemsOf(home.store()), []);
  });
});
