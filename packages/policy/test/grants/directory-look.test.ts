/** One look at the files of a set, without a disk: whose folders are asked, what counts as a change, and when it was. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import {
  type DirectoryEntry,
  type DirectoryLook,
  entryProblem,
  type FileBeside,
  isSameLook,
  latestChange,
  lookAtFiles,
  MAX_GRANT_BYTES,
  MAX_GRANT_FILES,
  MAX_GRANTS_BYTES,
} from "../../src/grants/grant-directory.ts";
import type { GrantFiles, Looked, Stamp } from "../../src/grants/grant-files.ts";

const OWNER = 1000;
const GRANTS = AbsPath.parse("/home/me/grants");
const TRUST = "grants can't be trusted: this folder";
const WRITABLE = `${TRUST} can be written by others than its owner (chmod go-w)`;

function stamp(kind: Stamp["kind"], more: Partial<Stamp> = {}): Stamp {
  return { kind, dev: 1n, ino: 1n, size: 10n, mtimeNs: 0n, ctimeNs: 0n, mode: 0o700n, uid: BigInt(OWNER), ...more };
}

interface Disk {
  readonly at?: Readonly<Record<string, Looked>>;
  readonly names?: readonly string[];
  readonly real?: Readonly<Record<string, string>>;
}

/** What is said of no path is a file of the owner's in the grants directory, and a folder of root's elsewhere. */
function disk({ at = {}, names = [], real = {} }: Disk): GrantFiles {
  return {
    look: (path) => at[path] ?? (path.endsWith(".toml") ? stamp("file") : stamp("directory", { uid: 0n, mode: 0o755n })),
    list: () => ({ kind: "names", names: names.map((name) => Buffer.from(name, "latin1")) }),
    read: () => assert.fail("a look opens nothing"),
    realPath: (path) => real[path] ?? path,
  };
}

function lookAt(on: Disk, beside: readonly FileBeside[] = []): DirectoryLook {
  return lookAtFiles(GRANTS, beside, disk(on), OWNER);
}

function problemsOf(on: Disk, beside: readonly FileBeside[] = []): readonly string[] {
  return lookAt(on, beside).problems.map(({ file, line, problem }) => `${file}:${line}: ${problem}`);
}

describe("lookAtFiles() asks whose is", () => {
  for (const parent of ["/", "/home", "/home/me", "/home/me/grants"]) {
    test(`the folder ${parent}, and takes root's and the owner's`, () => {
      for (const uid of [0n, 1000n]) assert.deepEqual(problemsOf({ at: { [parent]: stamp("directory", { uid }) } }), []);
      assert.deepEqual(problemsOf({ at: { [parent]: stamp("directory", { uid: 7n }) } }), [
        `${parent}:1: ${TRUST} belongs to user 7: only root and user 1000 may write grants (chown it)`,
      ]);
    });

    test(`the folder ${parent}, and that neither its group nor others can write it`, () => {
      for (const mode of [0o720n, 0o702n]) {
        assert.deepEqual(problemsOf({ at: { [parent]: stamp("directory", { mode }) } }), [`${parent}:1: ${WRITABLE}`]);
      }
      assert.deepEqual(problemsOf({ at: { [parent]: stamp("directory", { mode: 0o755n }) } }), []);
    });
  }

  test("a sticky folder, in which only owners can replace what lies in it: its mode is none of a problem, its owner is", () => {
    assert.deepEqual(problemsOf({ at: { "/home": stamp("directory", { mode: 0o1777n }) } }), []);
    assert.match(
      problemsOf({ at: { "/home": stamp("directory", { mode: 0o1777n, uid: 7n }) } }).join("\n"),
      /^\/home:1: .* user 7:/u,
    );
  });

  test("a sticky grants directory, whose mode is a problem: others could add a file", () => {
    assert.deepEqual(problemsOf({ at: { [GRANTS]: stamp("directory", { mode: 0o1777n }) } }), [`${GRANTS}:1: ${WRITABLE}`]);
  });

  test("a link on the way and what it leads to, but not what a link's mode is", () => {
    const real = { [GRANTS]: "/srv/real/grants" };
    const link = stamp("link", { mode: 0o777n });
    assert.deepEqual(problemsOf({ real, at: { [GRANTS]: link } }), []);
    assert.match(problemsOf({ real, at: { [GRANTS]: { ...link, uid: 7n } } }).join("\n"), /^\/home\/me\/grants:1: .* user 7:/u);
    for (const folder of ["/home/me", "/srv", "/srv/real"]) {
      assert.deepEqual(problemsOf({ real, at: { [folder]: stamp("directory", { mode: 0o777n }) } }), [`${folder}:1: ${WRITABLE}`]);
    }
  });

  test("each folder once, where two ways lead through it", () => {
    const real = { [GRANTS]: "/home/other/grants" };
    assert.deepEqual(problemsOf({ real, at: { "/home": stamp("directory", { mode: 0o777n }) } }), [`/home:1: ${WRITABLE}`]);
  });

  test("no folder that can't be looked at or has gone: then what lies in it can't be either", () => {
    const at: Record<string, Looked> = { "/home": { kind: "unreadable", code: "EACCES" }, "/home/me": { kind: "missing" } };
    assert.deepEqual(problemsOf({ at }), []);
  });

  test("the folder of a file beside, by its real place, once the file is there", () => {
    const beside = [{ name: "etc/tools.toml", path: AbsPath.parse("/opt/etc/tools.toml") }];
    const real = { "/opt/etc": "/data/etc" };
    const writable = stamp("directory", { mode: 0o777n });
    for (const folder of ["/opt", "/opt/etc", "/data", "/data/etc"]) {
      assert.deepEqual(problemsOf({ real, at: { [folder]: writable } }, beside), [`${folder}:1: ${WRITABLE}`]);
    }
    const gone: Looked = { kind: "missing" };
    assert.deepEqual(problemsOf({ real, at: { "/data/etc/tools.toml": gone, "/data": writable } }, beside), []);
  });
});

describe("lookAtFiles() says of a directory", () => {
  for (const [found, expected] of [
    [{ kind: "missing" }, "no such folder: a missing grants directory isn't an empty one; make it, or correct the configuration"],
    [{ kind: "unreadable", code: "EACCES" }, "can't be looked at (EACCES)"],
    [stamp("file"), "is no folder"],
  ] as const) {
    test(`that it ${expected}, and nothing of what lies in it`, () => {
      const look = lookAt({ at: { [GRANTS]: found }, names: ["a.toml"] });
      assert.deepEqual(look, {
        problems: [{ file: GRANTS, line: 1, problem: expected }],
        directory: found,
        entries: [],
        folders: [],
      });
    });
  }

  const many = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${index}.toml`);

  test("that it holds too many files only above the limit, and that only grant files count", () => {
    const names = [...many(MAX_GRANT_FILES), "readme.md", ".#0.toml"];
    const at = Object.fromEntries(names.map((name) => [`${GRANTS}/${name}`, stamp("file", { size: 1n })]));
    assert.deepEqual(problemsOf({ names, at }), []);
  });

  test("that it holds too many bytes only above the limit, to which a file that isn't read adds nothing", () => {
    const most = MAX_GRANTS_BYTES / MAX_GRANT_BYTES;
    const names = [...many(most), "large.toml", "link.toml"];
    const of = (size: bigint): Record<string, Looked> => ({
      ...Object.fromEntries(names.map((name) => [`${GRANTS}/${name}`, stamp("file", { size: BigInt(MAX_GRANT_BYTES) })])),
      [`${GRANTS}/large.toml`]: stamp("file", { size: BigInt(MAX_GRANT_BYTES) + 1n }),
      [`${GRANTS}/link.toml`]: stamp("link", { size }),
    });
    assert.deepEqual(problemsOf({ names, at: of(5n) }), []);
    const over = { ...of(5n), [`${GRANTS}/link.toml`]: stamp("file", { size: 1n }) };
    assert.deepEqual(problemsOf({ names, at: over }), [
      `${GRANTS}:1: holds ${MAX_GRANTS_BYTES + 1} bytes of grant files, expected ${MAX_GRANTS_BYTES} at most`,
    ]);
  });
});

describe("lookAtFiles() gives the files", () => {
  test("sorted by name, with those beside among them, looked at in the real place and shown as written", () => {
    const beside = [{ name: "etc/tools.toml", path: AbsPath.parse("/opt/etc/tools.toml") }];
    const real = { [GRANTS]: "/srv/grants", "/opt/etc": "/data/etc" };
    const look = lookAt({ real, names: ["z.toml", "a.toml", "a.txt", ".#a.toml"] }, beside);
    assert.deepEqual(
      look.entries.map(({ name, path, shown, looked }) => [name, path, shown, looked.kind]),
      [
        ["a.toml", "/srv/grants/a.toml", "/home/me/grants/a.toml", "file"],
        ["etc/tools.toml", "/data/etc/tools.toml", "/opt/etc/tools.toml", "file"],
        ["z.toml", "/srv/grants/z.toml", "/home/me/grants/z.toml", "file"],
      ],
    );
    assert.deepEqual(look.folders, [stamp("directory", { uid: 0n, mode: 0o755n })]);
  });

  test("with a name that can't be printed, of which nothing is looked at", () => {
    const [entry, ...others] = lookAt({ names: ["\u001bx.toml"] }).entries;
    assert.deepEqual(others, []);
    assert.deepEqual([entry?.name, entry?.path, entry?.looked], ["\u001bx.toml", "", { kind: "unprintable" }]);
    assert.match(entry?.shown ?? "", /^\/home\/me\/grants\/[\x20-\x7e]*x\.toml$/u);
  });

  test("beside, of which there is none: its folder alone, which need not be there", () => {
    const beside = [{ name: "etc/tools.toml", path: AbsPath.parse("/opt/etc/tools.toml") }];
    const missing: Looked = { kind: "missing" };
    const files = disk({ at: { "/opt/etc": missing, "/opt/etc/tools.toml": missing } });
    const nowhere: GrantFiles = { ...files, realPath: (path) => (path.startsWith("/opt") ? undefined : path) };
    const look = lookAtFiles(GRANTS, beside, nowhere, OWNER);
    assert.deepEqual([look.problems, look.entries, look.folders], [[], [], [missing]]);
  });
});

describe("entryProblem() says of", () => {
  const rows: readonly (readonly [string, DirectoryEntry["looked"], string | undefined])[] = [
    ["a file that has gone", { kind: "missing" }, "vanished while the grants were read"],
    ["a name that can't be printed", { kind: "unprintable" }, 'the name "a.toml" can\'t be printed as it is; rename the file'],
    ["a file that can't be looked at", { kind: "unreadable", code: "EIO" }, "can't be looked at (EIO)"],
    ["a link", stamp("link"), "is a link, expected a file of its own"],
    ["a folder", stamp("directory"), "is no regular file"],
    ["a device", stamp("other"), "is no regular file"],
    ["a large file", stamp("file", { size: BigInt(MAX_GRANT_BYTES) + 1n }), `is larger than ${MAX_GRANT_BYTES} bytes`],
    ["the largest file", stamp("file", { size: BigInt(MAX_GRANT_BYTES) }), undefined],
    ["a file of root's", stamp("file", { uid: 0n }), undefined],
    ["another user's file", stamp("file", { uid: 7n }), "belongs to user 7: only root and user 1000 may write grants (chown it)"],
    ["a sticky file", stamp("file", { mode: 0o1622n }), "can be written by others than its owner (chmod go-w)"],
  ];
  for (const [what, looked, expected] of rows) {
    test(`${what}: ${expected ?? "nothing"}`, () => {
      assert.equal(entryProblem({ name: "a.toml", path: "/a.toml", shown: "/a.toml", looked }, OWNER), expected);
    });
  }
});

describe("isSameLook()", () => {
  const problem = { file: "/home", line: 1, problem: "is no folder" };
  const entry: DirectoryEntry = { name: "a.toml", path: "/g/a.toml", shown: "/g/a.toml", looked: stamp("file") };
  const look: DirectoryLook = { problems: [problem], directory: stamp("directory"), entries: [entry], folders: [] };
  const others: Readonly<Record<string, Partial<DirectoryLook>>> = {
    "another directory": { directory: stamp("directory", { ino: 2n }) },
    "no directory": { directory: { kind: "missing" } },
    "one problem less": { problems: [] },
    "one problem more": { problems: [problem, problem] },
    "a problem of another file": { problems: [{ ...problem, file: "/srv" }] },
    "another problem": { problems: [{ ...problem, problem: "has gone" }] },
    "one file less": { entries: [] },
    "one file more": { entries: [entry, entry] },
    "a file of another name": { entries: [{ ...entry, name: "b.toml" }] },
    "a changed file": { entries: [{ ...entry, looked: stamp("file", { ctimeNs: 1n }) }] },
    "a file that has gone": { entries: [{ ...entry, looked: { kind: "missing" } }] },
  };
  for (const [what, other] of Object.entries(others)) {
    test(`takes ${what} for a change`, () => {
      assert.ok(!isSameLook(look, { ...look, ...other }));
      assert.ok(!isSameLook({ ...look, ...other }, look));
    });
  }

  test("finds none between equals, though neither is there", () => {
    assert.ok(isSameLook(look, structuredClone(look)));
    const gone: DirectoryLook = { ...look, directory: { kind: "missing" }, entries: [{ ...entry, looked: { kind: "missing" } }] };
    assert.ok(isSameLook(gone, structuredClone(gone)));
    const unreadable: DirectoryLook = { ...gone, directory: { kind: "unreadable", code: "EIO" } };
    assert.ok(!isSameLook(gone, unreadable));
  });
});

describe("latestChange()", () => {
  const at = (milliseconds: number): Stamp => stamp("file", { ctimeNs: BigInt(milliseconds) * 1_000_000n + 999_999n });
  const entryOf = (looked: DirectoryEntry["looked"]): DirectoryEntry => ({ name: "a", path: "/a", shown: "/a", looked });

  for (const [what, times] of [
    ["the directory", [9, 1, 2, 3]],
    ["a folder of a file beside", [1, 9, 2, 3]],
    ["the first file", [1, 2, 9, 3]],
    ["the last file", [1, 2, 3, 9]],
  ] as const) {
    test(`is that of ${what}, in whole milliseconds, where it is the latest`, () => {
      const [directory, folder, first, last] = times.map(at);
      assert.ok(directory !== undefined && folder !== undefined && first !== undefined && last !== undefined);
      assert.equal(latestChange({ problems: [], directory, folders: [folder], entries: [entryOf(first), entryOf(last)] }), 9);
    });
  }

  test("is not known where nothing is there", () => {
    const missing: Looked = { kind: "missing" };
    const entries = [entryOf({ kind: "unprintable" })];
    assert.equal(latestChange({ problems: [], directory: missing, folders: [missing], entries }), undefined);
  });
});
