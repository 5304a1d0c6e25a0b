/** What stands at the places that grants name, and what those places are without links. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { checkPlaces, realPlaces } from "../../src/grants/check-places.ts";
import { realGrantFiles } from "../../src/grants/grant-files.ts";
import { parseGrantFile } from "../../src/grants/parse-grant-file.ts";
import { TempDirectory } from "./temp-directory.ts";

/** What is said of a grant of this path. */
function problemsOf(tool: string, path: string): readonly string[] {
  const parsed = parseGrantFile(`id = "a"\ntool = "${tool}"\nmode = "auto"\n[constraints]\npaths = ["${path}"]\n`);
  assert.deepEqual(parsed.problems, []);
  return checkPlaces([{ shown: "a.toml", parsed }], undefined, realGrantFiles).map(({ problem }) => problem);
}

describe("a grant names", () => {
  test("a folder to write in, and a folder or a single file to read", () => {
    using directory = new TempDirectory();
    const file = directory.write("a.md", "");
    assert.deepEqual(problemsOf("write_file", directory.path), []);
    assert.deepEqual(problemsOf("read_file", directory.path), []);
    assert.deepEqual(problemsOf("read_file", file), []);
  });

  test("nothing below what is no folder: that is said, not what would be wrong with it as the last", () => {
    using directory = new TempDirectory();
    const file = directory.write("a.md", "");
    const fifo = join(directory.path, "fifo");
    assert.equal(spawnSync("mkfifo", [fifo]).status, 0);
    for (const [tool, path] of [
      ["write_file", `${file}/below`],
      ["read_file", `${fifo}/below`],
    ] as const) {
      assert.deepEqual(problemsOf(tool, path), [`constraints.paths: "${path}" can't be looked at (ENOTDIR at "${path}")`]);
    }
  });
});

describe("a place without links is", () => {
  const placesOf = (path: string): readonly string[] => realPlaces([AbsPath.parse(path)], realGrantFiles);

  test("the path itself where none of it exists, or there is no link in it", () => {
    using directory = new TempDirectory();
    assert.deepEqual(placesOf("/no-such-folder/a"), ["/no-such-folder/a"]);
    assert.deepEqual(placesOf(directory.path), [directory.path]);
  });

  test("where a link in it leads, and what doesn't exist yet below that", () => {
    using directory = new TempDirectory();
    const link = join(directory.path, "link");
    mkdirSync(join(directory.path, "real"));
    symlinkSync("real", link);
    assert.deepEqual(placesOf(`${link}/a/b`), [`${link}/a/b`, `${directory.path}/real/a/b`]);
  });

  test("below the root where a link leads there, but never the root itself", () => {
    using directory = new TempDirectory();
    const root = join(directory.path, "root");
    symlinkSync("/", root);
    assert.deepEqual(placesOf(`${root}/no-such-folder`), [`${root}/no-such-folder`, "/no-such-folder"]);
    assert.deepEqual(placesOf(root), [root]);
  });
});
