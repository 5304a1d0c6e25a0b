/** What the seam to the disk promises: what stands at a path, what changes a stamp, and that nothing is read but what was looked at. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isSameStamp, type Looked, realGrantFiles, type Stamp } from "../../src/grants/grant-files.ts";
import { TempDirectory } from "./temp-directory.ts";

function stampOf(path: string): Stamp {
  const looked: Looked = realGrantFiles.look(path);
  return "ctimeNs" in looked ? looked : assert.fail(looked.kind);
}

const SHORT = "/sys/devices/system/cpu/online";

/** What this process has open. */
function openFiles(): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // The descriptor that listed them is gone again.
      return [];
    }
  });
}

describe("a look at", () => {
  test("a file, a folder, a link and a FIFO tells them apart and follows no link", () => {
    using directory = new TempDirectory();
    const at = (name: string): string => join(directory.path, name);
    directory.write("file", "1234567");
    mkdirSync(at("folder"));
    symlinkSync("folder", at("link"));
    assert.equal(spawnSync("mkfifo", [at("fifo")]).status, 0);
    assert.deepEqual(
      ["file", "folder", "link", "fifo"].map((name) => stampOf(at(name)).kind),
      ["file", "directory", "link", "other"],
    );
  });

  test("a file has all that a change would change", () => {
    using directory = new TempDirectory();
    const path = directory.write("file", "1234567");
    const { dev, ino, size, mtimeNs, ctimeNs, mode, uid } = lstatSync(path, { bigint: true });
    assert.deepEqual(stampOf(path), { kind: "file", dev, ino, size, mtimeNs, ctimeNs, mode, uid });
    assert.equal(size, 7n);
  });

  test("nothing is no failure, what lies below a file is one", () => {
    using directory = new TempDirectory();
    const path = directory.write("file", "");
    assert.deepEqual(realGrantFiles.look(join(directory.path, "none")), { kind: "missing" });
    assert.deepEqual(realGrantFiles.look("/\0"), { kind: "unreadable", code: "ERR_INVALID_ARG_VALUE" });
    assert.deepEqual(realGrantFiles.look(join(path, "below")), { kind: "unreadable", code: "ENOTDIR" });
  });
});

describe("two stamps are the same", () => {
  const stamp: Stamp = { kind: "file", dev: 1n, ino: 2n, size: 3n, mtimeNs: 4n, ctimeNs: 5n, mode: 6n, uid: 7n };

  test("where all of them is", () => assert.ok(isSameStamp(stamp, { ...stamp })));

  for (const key of ["dev", "ino", "size", "mtimeNs", "ctimeNs", "mode", "uid"] as const) {
    test(`but not with another ${key}`, () => assert.ok(!isSameStamp(stamp, { ...stamp, [key]: 99n })));
  }
});

describe("a list", () => {
  test("has the names as bytes", () => {
    using directory = new TempDirectory();
    directory.write("a", "");
    directory.write("b", "");
    const listing = realGrantFiles.list(directory.path);
    assert.ok(listing.kind === "names");
    assert.deepEqual(listing.names.map((name) => Buffer.from(name).toString("hex")).sort(), ["61", "62"]);
    assert.ok(listing.names.every((name) => name instanceof Uint8Array));
  });

  test("of what is no folder says why there is none", () => {
    using directory = new TempDirectory();
    assert.deepEqual(realGrantFiles.list(directory.write("file", "")), { kind: "unreadable", code: "ENOTDIR" });
  });
});

describe("a read", () => {
  test("gives the bytes of a file that is as it was looked at, of an empty one too", async () => {
    using directory = new TempDirectory();
    for (const text of ["text\n", ""]) {
      const path = directory.write("file", text);
      assert.deepEqual(await realGrantFiles.read(path, stampOf(path)), { kind: "bytes", bytes: Buffer.from(text) });
    }
  });

  test("gives nothing of a file that is another one or has changed", async () => {
    using directory = new TempDirectory();
    const path = directory.write("file", "text\n");
    const stamp = stampOf(path);
    chmodSync(path, 0o640);
    assert.deepEqual(await realGrantFiles.read(path, stamp), { kind: "changed" });
    unlinkSync(path);
    assert.deepEqual(await realGrantFiles.read(path, stamp), { kind: "unreadable", code: "ENOENT" });
  });

  test("follows no link and waits for no writer", async () => {
    using directory = new TempDirectory();
    const path = directory.write("file", "text\n");
    const stamp = stampOf(path);
    symlinkSync("file", join(directory.path, "link"));
    assert.deepEqual(await realGrantFiles.read(join(directory.path, "link"), stamp), { kind: "unreadable", code: "ELOOP" });
    const fifo = join(directory.path, "fifo");
    assert.equal(spawnSync("mkfifo", [fifo]).status, 0);
    assert.deepEqual(await realGrantFiles.read(fifo, stamp), { kind: "changed" });
  });

  test("of a file that ends before its size ends too, and gives none of it", {
    skip: existsSync(SHORT) ? false : `needs ${SHORT}, which says of itself that it is larger than it is`,
  }, async () => {
    // As long as it is open, its times stay.
    const descriptor = openSync(SHORT, "r");
    try {
      const stamp = stampOf(SHORT);
      assert.ok(stamp.size > readFileSync(SHORT).length);
      assert.deepEqual(await realGrantFiles.read(SHORT, stamp), { kind: "changed" });
    } finally {
      closeSync(descriptor);
    }
  });

  test("leaves no file open, whatever comes of it", async () => {
    using directory = new TempDirectory();
    const path = directory.write("file", "text\n");
    const stamp = stampOf(path);
    for (const [from, kind] of [
      [stamp, "bytes"],
      [{ ...stamp, ino: 0n }, "changed"],
    ] as const) {
      assert.equal((await realGrantFiles.read(path, from)).kind, kind);
      assert.ok(!openFiles().includes(path));
    }
    const folder = stampOf(directory.path);
    assert.equal((await realGrantFiles.read(directory.path, folder)).kind, "unreadable");
    assert.ok(!openFiles().includes(directory.path));
  });

  test("of a folder says that it can't be read", async () => {
    using directory = new TempDirectory();
    directory.write("file", "");
    const stamp = stampOf(directory.path);
    assert.deepEqual(await realGrantFiles.read(directory.path, stamp), { kind: "unreadable", code: "EISDIR" });
  });
});

test("the real path is that without links, and none where nothing is", () => {
  using directory = new TempDirectory();
  writeFileSync(join(directory.path, "file"), "");
  symlinkSync("file", join(directory.path, "link"));
  assert.equal(realGrantFiles.realPath(join(directory.path, "link")), join(directory.path, "file"));
  assert.equal(realGrantFiles.realPath(join(directory.path, "none")), undefined);
});
