import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { writeFile } from "../src/write-file.ts";
import { temporaryFolder } from "./temporary-folder.ts";

function write(path: string, content: string, root: string): string {
  const result = writeFile(path, content, [root]);
  return result.status === "ok" ? "ok" : result.content;
}

test("write_file makes a file, says how much it wrote, and leaves nothing else behind", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  assert.deepEqual(writeFile(path, "grüße\n", [folder.path]), {
    status: "ok",
    content: `wrote 8 bytes to ${path}`,
    truncated: false,
  });
  assert.equal(readFileSync(path, "utf8"), "grüße\n");
  assert.deepEqual(readdirSync(folder.path), ["a.txt"]);
  assert.equal(statSync(path).mode & 0o7133, 0);
});

test("write_file replaces the file and keeps its mode, but no set-id bit", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  for (const mode of [0o600, 0o640, 0o666, 0o777, 0o4755, 0o2755]) {
    writeFileSync(path, "old and longer");
    chmodSync(path, mode);
    assert.equal(write(path, "new", folder.path), "ok");
    assert.equal(readFileSync(path, "utf8"), "new");
    assert.equal(statSync(path).mode & 0o7777, mode & 0o777);
    assert.deepEqual(readdirSync(folder.path), ["a.txt"]);
  }
});

test("write_file gives the file a new inode, so that a hard link keeps the old text", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  const other = `${folder.path}/b.txt`;
  writeFileSync(path, "old");
  linkSync(path, other);
  assert.equal(write(path, "new", folder.path), "ok");
  assert.equal(readFileSync(other, "utf8"), "old");
});

test("write_file never makes folders, and says which one is missing", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/no/a.txt`;
  assert.equal(write(path, "x", folder.path), `write_file: ${path}: no such directory as "${folder.path}/no"`);
  assert.deepEqual(readdirSync(folder.path), []);
});

test("write_file refuses what is no regular file, and leaves it as it was", () => {
  using folder = temporaryFolder();
  const at = (name: string): string => `${folder.path}/${name}`;
  mkdirSync(at("folder"));
  writeFileSync(at("folder/target"), "old");
  symlinkSync("folder/target", at("link"));
  symlinkSync("none", at("dangling"));
  symlinkSync("folder", at("way"));
  assert.equal(spawnSync("mkfifo", [at("fifo")]).status, 0);
  const before = readdirSync(folder.path);
  assert.equal(write(at("folder"), "x", folder.path), `write_file: ${at("folder")}: is a directory`);
  assert.equal(write(folder.path, "x", folder.path), `write_file: ${folder.path}: is a directory`);
  assert.equal(write(at("fifo"), "x", folder.path), `write_file: ${at("fifo")}: not a regular file`);
  assert.match(write(at("link"), "x", folder.path), /is a symbolic link to ".*\/folder\/target"; ask for the target instead$/u);
  assert.match(write(at("dangling"), "x", folder.path), /is a symbolic link to ".*\/none"/u);
  assert.match(write(at("way/target"), "x", folder.path), /is a symbolic link to ".*\/folder"/u);
  assert.equal(write("/dev/null", "x", "/dev"), "write_file: /dev/null: not a regular file");
  assert.equal(write("/etc/x", "x", folder.path), "write_file: /etc/x: outside the granted paths");
  assert.equal(readFileSync(at("folder/target"), "utf8"), "old");
  assert.deepEqual(readdirSync(folder.path), before);
});

test("write_file writes a granted file in place, shorter text included, unless another name shares it", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  writeFileSync(path, "old and longer");
  const { ino } = statSync(path);
  assert.equal(write(path, "new", path), "ok");
  assert.equal(readFileSync(path, "utf8"), "new");
  assert.equal(statSync(path).ino, ino);
  linkSync(path, `${folder.path}/b.txt`);
  assert.equal(write(path, "newer", path), `write_file: ${path}: has other hard links, which would change with it`);
  assert.equal(readFileSync(path, "utf8"), "new");
});

test("write_file takes an empty text and one of 1 MiB", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  for (const text of ["x".repeat(1024 * 1024), ""]) {
    assert.equal(write(path, text, folder.path), "ok");
    assert.equal(readFileSync(path, "utf8"), text);
  }
});

/** Runs with a small file system of its own in the folder: writing fails half-way there. */
function onFullDisk(context: TestContext, folder: string, body: () => void): void {
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=8k", "tmpfs", folder]);
  if (mounted.status !== 0) {
    context.skip("needs root, to mount a file system that is full");
    return;
  }
  try {
    body();
  } finally {
    assert.equal(spawnSync("umount", [folder]).status, 0);
  }
}

test("write_file removes its temporary file when it fails", (context) => {
  using folder = temporaryFolder();
  onFullDisk(context, folder.path, () => {
    const path = `${folder.path}/a.txt`;
    writeFileSync(path, "old");
    assert.equal(write(path, "x".repeat(100_000), folder.path), `write_file: ${path}: no space left`);
    assert.deepEqual(readdirSync(folder.path), ["a.txt"]);
    assert.equal(readFileSync(path, "utf8"), "old");
  });
});

test("write_file leaves a granted file as it was where its longer text has no room", (context) => {
  using folder = temporaryFolder();
  onFullDisk(context, folder.path, () => {
    const path = `${folder.path}/a.txt`;
    writeFileSync(path, "old");
    assert.equal(write(path, "x".repeat(100_000), path), `write_file: ${path}: no space left`);
    assert.equal(readFileSync(path, "utf8"), "old");
    assert.equal(write(path, "longer than before", path), "ok");
    assert.equal(readFileSync(path, "utf8"), "longer than before");
  });
});

test("write_file refuses to change who owns a file", (t) => {
  if (process.getuid?.() !== 0) {
    t.skip("needs root, to make a file of another owner");
    return;
  }
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  writeFileSync(path, "old");
  assert.equal(spawnSync("chown", ["12345:12345", path]).status, 0);
  // Root may give files away, so here the owner is kept.
  assert.equal(write(path, "new", folder.path), "ok");
  const { uid, gid } = statSync(path);
  assert.deepEqual([uid, gid], [12345, 12345]);
  rmSync(path);
});
