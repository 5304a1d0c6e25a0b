/** A grant that is added to a set is held to what a file of the set is held to; and the places that are the box's own. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { setFromTexts } from "../../src/grants/assemble-set.ts";
import { boxPlaces } from "../../src/grants/box-places.ts";
import { type AddedGrant, checkAddedGrant } from "../../src/grants/check-added-grant.ts";
import { type GrantFiles, realGrantFiles } from "../../src/grants/grant-files.ts";
import { LABELS_FILE, type ValidGrantSet } from "../../src/rules/grant-set.ts";
import { grantText, TempDirectory } from "./temp-directory.ts";

const RUN = AbsPath.parse("/home/box/run");
const NOWHERE: GrantFiles = { ...realGrantFiles, look: () => ({ kind: "missing" }), realPath: () => undefined };

function setOf(...files: readonly (readonly [file: string, text: string])[]): ValidGrantSet {
  const set = setFromTexts(
    files.map(([file, text]) => ({ file, text })),
    [],
  );
  return set.kind === "valid" ? set : assert.fail(JSON.stringify(set.problems));
}

function problemsOf(set: ValidGrantSet, text: string, files: GrantFiles = NOWHERE): readonly string[] {
  const added = checkAddedGrant(set, "session/x.toml", text, { forbidden: [RUN], files });
  return added.kind === "valid" ? [] : added.problems.map(({ file, line, problem }) => `${file}:${line}: ${problem}`);
}

describe("checkAddedGrant()", () => {
  test("gives the grant with its defaults, its name, its text and the text's hash", () => {
    const text = grantText("x", "/srv/x");
    const added = checkAddedGrant(setOf(["a.toml", grantText("a", "/srv/a")]), "x.toml", text, { forbidden: [], files: NOWHERE });
    assert.ok(added.kind === "valid");
    const { grant, ...rest } = added.loaded;
    assert.deepEqual(rest, { file: "x.toml", sha256: sha256(text), text });
    assert.deepEqual([grant.id, grant.paths, grant.approvers], ["x", ["/srv/x"], ["bxctl"]]);
  });

  test("leaves the set as it was", () => {
    const set = setOf(["a.toml", grantText("a", "/srv/a")]);
    assert.deepEqual(problemsOf(set, grantText("x", "/srv/x")), []);
    assert.deepEqual(
      set.grants.map(({ file }) => file),
      ["a.toml"],
    );
  });

  test("lists what is wrong with the text by itself, sorted by line", () => {
    assert.deepEqual(problemsOf(setOf(), `${grantText("X", "/srv/x")}colour = 1\n`), [
      `session/x.toml:1: id: expected 1 to 64 of a-z, 0-9 and '-', got "X"`,
      'session/x.toml:6: unknown key "colour"',
    ]);
  });

  test("refuses an id that a grant of the set has, each time it is asked", () => {
    const set = setOf(["a.toml", grantText("a", "/srv/a")]);
    const expected = ['a.toml:1: id: "a" is also the id in session/x.toml', 'session/x.toml:1: id: "a" is also the id in a.toml'];
    assert.deepEqual(problemsOf(set, grantText("a", "/srv/x")), expected);
    assert.deepEqual(problemsOf(set, grantText("a", "/srv/x")), expected);
  });

  test("refuses a path inside one that a grant of the set lets a box write", () => {
    const set = setOf(["w.toml", grantText("w", "/srv/w").replace("read_file", "write_file")]);
    assert.match(
      problemsOf(set, grantText("x", "/srv/w/x")).join("\n"),
      /^session\/x\.toml:5: .*lies in "\/srv\/w", which w\.toml/u,
    );
  });

  test("refuses one of the box's own places, by its name and by its real place", () => {
    assert.match(problemsOf(setOf(), grantText("x", "/home/box/run/x")).join("\n"), /lies in the box's own "\/home\/box\/run"/u);
    const files: GrantFiles = { ...NOWHERE, realPath: (path) => (path === RUN ? "/srv/run" : undefined) };
    assert.match(problemsOf(setOf(), grantText("x", "/srv/run/x"), files).join("\n"), /lies in the box's own "\/srv\/run"/u);
  });

  test("holds a shell grant to the owner's labels of the set", () => {
    const shell = grantText("x", "/srv/x").replace("read_file", "shell").replace('"auto"', '"ask"');
    const labels = '[[trees]]\npath = "/srv/x"\nlabel = "secret"\n';
    assert.deepEqual(problemsOf(setOf([LABELS_FILE, labels]), shell), [
      'session/x.toml:5: label: "/srv/x" is secret, so the results need label = "secret"',
    ]);
    assert.deepEqual(problemsOf(setOf(), shell), []);
    const { kind, grants, files } = setOf();
    assert.deepEqual(problemsOf({ kind, grants, files }, shell), []);
  });

  test("refuses a path that leads through a link of this machine", () => {
    using place = new TempDirectory();
    mkdirSync(join(place.path, "real"));
    symlinkSync("real", join(place.path, "link"));
    const add = (name: string): AddedGrant =>
      checkAddedGrant(setOf(), "x.toml", grantText("x", join(place.path, name)), { forbidden: [] });
    assert.deepEqual(add("link"), {
      kind: "invalid",
      problems: [
        {
          file: "x.toml",
          line: 5,
          problem: `constraints.paths: "${place.path}/link" leads through the link "${place.path}/link"; name the real place`,
        },
      ],
    });
    assert.equal(add("real").kind, "valid");
  });
});

test("boxPlaces() names the directories of a home, and each place that is elsewhere once", () => {
  const [home, vault, etc] = ["/home/box", "/mnt/vault", "/home/box/etc"].map((path) => AbsPath.parse(path));
  assert.ok(home !== undefined && vault !== undefined && etc !== undefined);
  assert.deepEqual(boxPlaces(home, [vault, etc]), [
    "/home/box/run",
    "/home/box/audit",
    "/home/box/broker",
    "/home/box/sessions",
    "/home/box/memory",
    "/home/box/gateway",
    "/home/box/etc",
    "/mnt/vault",
  ]);
});
