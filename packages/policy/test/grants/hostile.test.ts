/** Nothing that can lie in a grants directory crashes the store, hangs it, or makes it give a part of a set. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { MAX_GRANT_BYTES, MAX_GRANT_FILES, MAX_GRANTS_BYTES } from "../../src/grants/grant-directory.ts";
import { type GrantFiles, realGrantFiles } from "../../src/grants/grant-files.ts";
import { grantText, problemsOf, TempDirectory, TestClock } from "./temp-directory.ts";

/** The problems of a directory that also holds a good grant. */
async function problemsWith(
  make: (directory: TempDirectory) => void | Promise<void>,
  files: GrantFiles = realGrantFiles,
): Promise<readonly string[]> {
  using directory = new TempDirectory();
  directory.writeGrant("good");
  await make(directory);
  const set = await directory.store({ files }).current();
  return set.kind === "valid"
    ? []
    : set.problems.map(({ file, line, problem }) => `${file.slice(directory.path.length + 1)}:${line}: ${problem}`);
}

/** /dev/zero under another name; false where that takes more rights than there are. */
function makeDevice(directory: TempDirectory, name: string): boolean {
  return spawnSync("mknod", ["-m", "600", join(directory.path, name), "c", "1", "5"]).status === 0;
}

function canMakeDevices(): boolean {
  using directory = new TempDirectory();
  return makeDevice(directory, "probe");
}

describe("GrantStore.current() says what is wrong with", () => {
  test("a link, even to a good grant", async () => {
    const problems = await problemsWith(({ path }) => symlinkSync("good.toml", join(path, "link.toml")));
    assert.deepEqual(problems, ["link.toml:1: is a link, expected a file of its own"]);
  });

  test("a dangling link and a link to itself", async () => {
    const problems = await problemsWith(({ path }) => {
      symlinkSync("nowhere", join(path, "a.toml"));
      symlinkSync("b.toml", join(path, "b.toml"));
    });
    assert.equal(problems.length, 2);
  });

  test("a directory", async () => {
    assert.deepEqual(await problemsWith(({ path }) => mkdirSync(join(path, "d.toml"))), ["d.toml:1: is no regular file"]);
  });

  test("a FIFO, without waiting for somebody to write it", async () => {
    const problems = await problemsWith(({ path }) => {
      assert.equal(spawnSync("mkfifo", [join(path, "f.toml")]).status, 0);
    });
    assert.deepEqual(problems, ["f.toml:1: is no regular file"]);
  });

  test("a socket", async () => {
    const server = createServer();
    const problems = await problemsWith(({ path }) => new Promise((resolve) => server.listen(join(path, "s.toml"), resolve)));
    await new Promise((resolve) => server.close(resolve));
    assert.deepEqual(problems, ["s.toml:1: is no regular file"]);
  });

  test("a file of 10 MB, without reading it", async () => {
    const problems = await problemsWith((directory) => void directory.write("big.toml", Buffer.alloc(10 * 1024 * 1024, "#")));
    assert.deepEqual(problems, [`big.toml:1: is larger than ${MAX_GRANT_BYTES} bytes`]);
  });

  test("a file one byte above the limit, and nothing with one at the limit", async () => {
    const text = grantText("x", "/srv/x");
    const padded = (size: number): string => text + "#".repeat(size - text.length);
    assert.equal((await problemsWith((directory) => void directory.write("x.toml", padded(MAX_GRANT_BYTES + 1)))).length, 1);
    assert.deepEqual(await problemsWith((directory) => void directory.write("x.toml", padded(MAX_GRANT_BYTES))), []);
  });

  test("bytes that aren't UTF-8", async () => {
    const problems = await problemsWith((directory) => void directory.write("x.toml", Buffer.from([0x61, 0xff])));
    assert.deepEqual(problems, ["x.toml:1: is not UTF-8"]);
  });

  test("an empty file, and one of NUL bytes", async () => {
    const problems = await problemsWith((directory) => {
      directory.write("empty.toml", "");
      directory.write("nul.toml", "\0\0");
    });
    assert.equal(problems.filter((problem) => problem.startsWith("empty.toml:1: ")).length, 4);
    assert.equal(problems.filter((problem) => problem.startsWith("nul.toml:1: not TOML")).length, 1);
  });

  test("a name with a newline, on one line", async () => {
    const problems = await problemsWith((directory) => void directory.write("a\nb.toml", grantText("x", "/srv/x")));
    assert.equal(problems.length, 1);
    assert.doesNotMatch(problems.join(""), /\n/u);
    assert.match(problems.join(""), /can't be printed as it is; rename the file$/u);
  });

  test("a name with an escape sequence or a character that turns the line around", async () => {
    for (const name of ["\u001b[2Ja.toml", "a\u202elmot.toml"]) {
      const problems = await problemsWith((directory) => void directory.write(name, ""));
      assert.match(problems.join("\n"), /^[\x20-\x7e]+ rename the file$/u);
    }
  });

  test("a name that isn't UTF-8", async () => {
    const problems = await problemsWith(({ path }) =>
      writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff]), Buffer.from(".toml")]), "", { mode: 0o600 }),
    );
    assert.match(problems.join("\n"), /rename the file$/u);
  });

  test("a problem text with control characters from the file, on one printable line", async () => {
    const problems = await problemsWith((directory) => void directory.write("x.toml", '"a\\n\\u001b[2J" = 1\n'));
    assert.ok(problems.length > 0);
    for (const problem of problems) assert.match(problem, /^[\x20-\x7e]+$/u);
  });

  test("a device, without reading it", { skip: canMakeDevices() ? false : "no device can be made here" }, async () => {
    using directory = new TempDirectory();
    makeDevice(directory, "zero.toml");
    assert.deepEqual(await problemsOf(directory.store()), ["zero.toml:1: is no regular file"]);
  });

  test("a thousand files that are all wrong, each in its place", async () => {
    const problems = await problemsWith((directory) => {
      for (let index = 0; index < 1000; index++) directory.write(`x${String(index).padStart(3, "0")}.toml`, "colour = 1\n");
    });
    assert.equal(problems.length, 5000);
    assert.deepEqual(problems, problems.toSorted());
    assert.ok(problems.includes('x999.toml:1: unknown key "colour"'));
  });

  test("a thousand FIFOs, links and folders among good grants", async () => {
    using directory = new TempDirectory();
    for (let index = 0; index < 1000; index += 2) {
      directory.writeGrant(`good-${index}`);
      const path = join(directory.path, `bad-${index}.toml`);
      if (index % 4 === 0) symlinkSync("/dev/zero", path);
      else mkdirSync(path);
    }
    assert.equal(spawnSync("mkfifo", [join(directory.path, "fifo.toml")]).status, 0);
    assert.equal((await problemsOf(directory.store())).length, 501);
  });

  test("more files than anybody writes, without looking at each", async () => {
    using directory = new TempDirectory();
    const names = Array.from({ length: MAX_GRANT_FILES + 1 }, (_, index) => Buffer.from(`${index}.toml`));
    const looked: string[] = [];
    const files: GrantFiles = {
      ...realGrantFiles,
      list: () => ({ kind: "names", names }),
      look: (path) => {
        looked.push(path);
        return realGrantFiles.look(path);
      },
    };
    const [problem, ...others] = await problemsOf(directory.store({ files }));
    assert.deepEqual(others, []);
    assert.match(problem ?? "", /:1: holds 20001 grant files, expected 20000 at most$/u);
    assert.ok(looked.length < 100);
  });

  test("more bytes in all than brokerd keeps, without reading them, and sees at the next call that they are fewer", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    let size = BigInt(MAX_GRANT_BYTES);
    const names = Array.from({ length: MAX_GRANTS_BYTES / MAX_GRANT_BYTES + 1 }, (_, index) => Buffer.from(`${index}.toml`));
    const reads: string[] = [];
    const files: GrantFiles = {
      ...realGrantFiles,
      list: () => ({ kind: "names", names }),
      look: (path) => {
        const looked = realGrantFiles.look(path.endsWith(".toml") ? join(directory.path, "a.toml") : path);
        return path.endsWith(".toml") && looked.kind === "file" ? { ...looked, size } : looked;
      },
      read: async (path) => {
        reads.push(path);
        return { kind: "bytes", bytes: Buffer.from(grantText(path.slice(path.lastIndexOf("/") + 1, -5), "/srv/a")) };
      },
    };
    const store = directory.store({ files });
    assert.match((await problemsOf(store)).join("\n"), /:1: holds 67371008 bytes of grant files, expected 67108864 at most$/u);
    assert.deepEqual(reads, []);
    size = 100n;
    assert.deepEqual(await problemsOf(store), []);
  });

  test("a table deeper than anybody writes", async () => {
    const problems = await problemsWith((directory) => void directory.write("x.toml", `x = ${"[".repeat(50_000)}`));
    assert.ok(problems.length > 0);
  });
});

test("GrantStore.current() leaves alone what Emacs puts beside a file that is being edited", async () => {
  assert.deepEqual(await problemsWith(({ path }) => symlinkSync("me@host.1", join(path, ".#good.toml"))), []);
});

test("GrantStore.current() counts a hidden file, since a deny in it would be missed otherwise", async () => {
  assert.equal((await problemsWith((directory) => void directory.write(".x.toml", ""))).length, 4);
});

/** The disk, with something done at the moment of a read. */
function filesThat(read: GrantFiles["read"]): GrantFiles {
  return { ...realGrantFiles, read };
}

describe("GrantStore.current() gives whole sets only", () => {
  test("where a file vanishes while it is read", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    directory.writeGrant("b");
    let vanished = false;
    const files = filesThat((path, stamp) => {
      if (!vanished && path.endsWith("a.toml")) unlinkSync(path);
      vanished = true;
      return realGrantFiles.read(path, stamp);
    });
    const set = await directory.store({ files }).current();
    assert.deepEqual(set.kind === "valid" ? set.grants.map(({ file }) => file) : set.problems, ["b.toml"]);
  });

  test("where a file becomes a FIFO between the look and the read", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const files = filesThat((path, stamp) => {
      unlinkSync(path);
      spawnSync("mkfifo", [path]);
      return realGrantFiles.read(path, stamp);
    });
    const set = await directory.store({ files }).current();
    assert.ok(set.kind === "invalid");
    assert.equal(set.problems[0]?.problem, "is no regular file");
  });

  test("where a file becomes a link between the look and the read", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const files = filesThat((path, stamp) => {
      unlinkSync(path);
      symlinkSync("/etc/passwd", path);
      return realGrantFiles.read(path, stamp);
    });
    const set = await directory.store({ files }).current();
    assert.ok(set.kind === "invalid");
    assert.match(set.problems[0]?.problem ?? "", /^is a link/u);
  });

  test("where a file grows while it is read, again and again", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    let reads = 0;
    const files = filesThat(async (path, stamp) => {
      writeFileSync(path, `# ${++reads}\n`, { flag: "a" });
      return realGrantFiles.read(path, stamp);
    });
    const clock = new TestClock(0);
    const set = await directory.store({ files, clock }).current();
    assert.ok(set.kind === "invalid");
    assert.match(set.problems[0]?.problem ?? "", /^keeps changing/u);
  });

  test("where a file can't be read now, and reads it once it can", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    let fails = true;
    const files = filesThat(async (path, stamp) =>
      fails ? { kind: "unreadable", code: "EIO" } : realGrantFiles.read(path, stamp),
    );
    const store = directory.store({ files });
    const set = await store.current();
    assert.deepEqual(set, {
      kind: "invalid",
      problems: [{ file: `${directory.path}/a.toml`, line: 1, problem: "can't be read (EIO)" }],
    });
    fails = false;
    assert.equal((await store.current()).kind, "valid");
  });

  test("where the directory vanishes while it is read, and once it is there again", async () => {
    using home = new TempDirectory();
    const path = AbsPath.parse(`${home.path}/grants`);
    mkdirSync(path, { mode: 0o700 });
    for (const id of ["a", "b"]) home.write(`grants/${id}.toml`, grantText(id, `/srv/${id}`));
    let isThere = true;
    const files = filesThat((file, stamp) => {
      if (isThere) renameSync(path, `${path}-away`);
      isThere = false;
      return realGrantFiles.read(file, stamp);
    });
    const store = home.store({ directory: path, files });
    assert.match((await problemsOf(store)).join("\n"), /^grants:1: no such folder/u);
    renameSync(`${path}-away`, path);
    assert.deepEqual(await problemsOf(store), []);
  });

  test("where a file is replaced by one of 10 MB between the look and the read, of which nothing is read", async () => {
    using directory = new TempDirectory();
    directory.writeGrant("a");
    const files = filesThat((path, stamp) => {
      unlinkSync(path);
      writeFileSync(path, Buffer.alloc(10 * 1024 * 1024, "#"), { mode: 0o600 });
      return realGrantFiles.read(path, stamp);
    });
    const problems = await problemsOf(directory.store({ files }));
    assert.deepEqual(problems, [`a.toml:1: is larger than ${MAX_GRANT_BYTES} bytes`]);
  });

  test("where every one of a thousand files vanishes as it is read", async () => {
    using directory = new TempDirectory();
    for (let index = 0; index < 1000; index++) directory.writeGrant(`g${index}`);
    const files = filesThat((path, stamp) => {
      rmSync(path, { force: true });
      return realGrantFiles.read(path, stamp);
    });
    const set = await directory.store({ files }).current();
    assert.ok(set.kind === "valid");
    assert.deepEqual(set.grants, []);
  });

  test("where the directory can't be listed", async () => {
    using directory = new TempDirectory();
    const files: GrantFiles = { ...realGrantFiles, list: () => ({ kind: "unreadable", code: "EACCES" }) };
    assert.deepEqual(await directory.store({ files }).current(), {
      kind: "invalid",
      problems: [{ file: directory.path, line: 1, problem: "can't be listed (EACCES)" }],
    });
  });
});
