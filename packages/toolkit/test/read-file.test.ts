import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { MAX_READ, readFile } from "../src/read-file.ts";
import { temporaryFolder } from "./temporary-folder.ts";

function read(path: string, root: string, cap: number = MAX_READ): string {
  const { status, content, truncated } = readFile(path, [root], cap);
  assert.equal(truncated, false);
  return status === "ok" ? content : `FAILED ${content}`;
}

test("read_file returns the whole text, byte order mark and line ends included", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  const text = "\uFEFFgrüße\r\n\u{1F4E6}\n";
  writeFileSync(path, text);
  assert.equal(read(path, folder.path), text);
});

test("read_file reads a granted file by itself, and through a hard link", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  writeFileSync(path, "one");
  linkSync(path, `${folder.path}/b.txt`);
  assert.equal(read(path, path), "one");
  assert.equal(read(`${folder.path}/b.txt`, folder.path), "one");
});

test("read_file says in fixed words what is not a readable text", () => {
  using folder = temporaryFolder();
  const at = (name: string): string => `${folder.path}/${name}`;
  mkdirSync(at("folder"));
  writeFileSync(at("binary"), Buffer.from([0x66, 0xff, 0xfe]));
  writeFileSync(at("surrogate"), Buffer.from([0xed, 0xa0, 0x80]));
  writeFileSync(at("file"), "x");
  assert.equal(spawnSync("mkfifo", [at("fifo")]).status, 0);
  assert.equal(read(at("none"), folder.path), `FAILED read_file: ${at("none")}: no such file`);
  assert.equal(read(at("folder"), folder.path), `FAILED read_file: ${at("folder")}: is a directory`);
  assert.equal(read(folder.path, folder.path), `FAILED read_file: ${folder.path}: is a directory`);
  assert.equal(read(at("binary"), folder.path), `FAILED read_file: ${at("binary")}: not UTF-8 text`);
  assert.equal(read(at("surrogate"), folder.path), `FAILED read_file: ${at("surrogate")}: not UTF-8 text`);
  assert.equal(read(at("fifo"), folder.path), `FAILED read_file: ${at("fifo")}: not a regular file`);
  assert.equal(read(at("file/x"), folder.path), `FAILED read_file: ${at("file/x")}: "${at("file")}" is not a directory`);
  assert.equal(read(at("no/x"), folder.path), `FAILED read_file: ${at("no/x")}: no such directory as "${at("no")}"`);
  assert.equal(read(at("n".repeat(256)), folder.path), `FAILED read_file: ${at("n".repeat(256))}: name too long`);
  assert.equal(read("/dev/null", "/dev"), "FAILED read_file: /dev/null: not a regular file");
});

test("read_file refuses what is larger than 1 MiB, a sparse file of a terabyte included, and reads exactly 1 MiB", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/a.txt`;
  writeFileSync(path, "x".repeat(MAX_READ));
  assert.equal(read(path, folder.path).length, MAX_READ);
  writeFileSync(path, "x".repeat(MAX_READ + 1));
  assert.equal(read(path, folder.path), `FAILED read_file: ${path}: larger than 1048576 bytes`);
  truncateSync(path, 2 ** 40);
  assert.equal(read(path, folder.path), `FAILED read_file: ${path}: larger than 1048576 bytes`);
  assert.equal(read(path, folder.path, 10), `FAILED read_file: ${path}: larger than 10 bytes`);
});

test("read_file refuses a file that says it is empty and is not", () => {
  // The files of /proc have the size 0, whatever they hold.
  assert.equal(
    read("/proc/self/status", "/proc", 10),
    'FAILED read_file: /proc/self/status: "/proc/self" is a symbolic link to ' +
      `"/proc/${process.pid}"; ask for the target instead`,
  );
  const path = `/proc/${process.pid}/status`;
  assert.equal(read(path, "/proc", 10), `FAILED read_file: ${path}: larger than 10 bytes`);
});

test("read_file follows a symbolic link in no position, and names its target", () => {
  using folder = temporaryFolder();
  const at = (name: string): string => `${folder.path}/${name}`;
  mkdirSync(at("folder"));
  writeFileSync(at("folder/file"), "x");
  symlinkSync("folder/file", at("relative"));
  symlinkSync("/etc/passwd", at("absolute"));
  symlinkSync("folder", at("way"));
  symlinkSync("none", at("dangling"));
  symlinkSync("loop", at("loop"));
  symlinkSync("/tmp/\u001b[31m", at("colour"));
  const link = (name: string, target: string, asked = name): string =>
    `FAILED read_file: ${at(asked)}: "${at(name)}" is a symbolic link to "${target}"; ask for the target instead`;
  assert.equal(read(at("relative"), folder.path), link("relative", at("folder/file")));
  assert.equal(read(at("absolute"), folder.path), link("absolute", "/etc/passwd"));
  assert.equal(read(at("way/file"), folder.path), link("way", at("folder"), "way/file"));
  assert.equal(read(at("dangling"), folder.path), link("dangling", at("none")));
  assert.equal(read(at("loop"), folder.path), link("loop", at("loop")));
  assert.equal(read(at("colour"), folder.path), link("colour", "/tmp/\\u001b[31m"));
});

test("read_file refuses a root that is a symbolic link or lies behind one", () => {
  using folder = temporaryFolder();
  const at = (name: string): string => `${folder.path}/${name}`;
  mkdirSync(at("real/root"), { recursive: true });
  writeFileSync(at("real/root/file"), "x");
  symlinkSync("real", at("link"));
  assert.match(read(at("link/root/file"), at("link/root")), /the granted path leads through a symbolic link$/u);
  assert.match(read(at("link/root"), at("link")), /is a symbolic link to/u);
});

test("read_file refuses paths outside every root, siblings of the same prefix included", () => {
  using folder = temporaryFolder();
  mkdirSync(`${folder.path}/notes`);
  mkdirSync(`${folder.path}/notes2`);
  writeFileSync(`${folder.path}/notes2/a`, "x");
  for (const path of [`${folder.path}/notes2/a`, "/etc/passwd", "/proc/self/environ"]) {
    assert.equal(read(path, `${folder.path}/notes`), `FAILED read_file: ${path}: outside the granted paths`);
  }
  assert.equal(readFile("/etc/passwd", [], MAX_READ).content, "read_file: /etc/passwd: outside the granted paths");
});
