/** A set from texts alone is held to every rule that needs no disk. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { type GivenFile, setFromTexts } from "../../src/grants/assemble-set.ts";
import { grantText } from "./temp-directory.ts";

const OWN = [AbsPath.parse("/home/box/run")];

function problemsOf(...given: readonly GivenFile[]): readonly string[] {
  const set = setFromTexts(given, OWN);
  return set.kind === "valid" ? [] : set.problems.map(({ file, line, problem }) => `${file}:${line}: ${problem}`);
}

test("setFromTexts() gives grants, what is said of tools and of trees, and every file with its hash", () => {
  const given = [
    { file: "a.toml", text: grantText("a", "/srv/a") },
    { file: "etc/labels.toml", text: '[[trees]]\npath = "/srv/b"\nlabel = "secret"\n' },
    { file: "etc/tools.toml", text: '[shell]\notherwise = "ask"\n' },
  ];
  const set = setFromTexts(given, OWN);
  assert.ok(set.kind === "valid");
  assert.deepEqual(
    set.grants.map(({ grant, file, sha256: hash, text }) => [grant.id, file, hash, text]),
    [["a", "a.toml", sha256(grantText("a", "/srv/a")), grantText("a", "/srv/a")]],
  );
  assert.deepEqual(
    [...(set.otherwise ?? [])].map(([tool, { reserved }]) => [tool, reserved]),
    [["shell", OWN]],
  );
  assert.deepEqual(set.labels, [{ path: "/srv/b", label: { taint: "secret", untrusted: false } }]);
  assert.deepEqual(
    set.files,
    given.map(({ file, text }) => ({ file, sha256: sha256(text), text })),
  );
  assert.ok(Object.isFrozen(set));
});

test("setFromTexts() takes no files for an empty set", () => {
  assert.deepEqual(setFromTexts([], OWN), { kind: "valid", grants: [], otherwise: new Map(), labels: [], files: [] });
});

test("setFromTexts() says all that is wrong in a file, between files, and with the box's own places, sorted", () => {
  assert.deepEqual(
    problemsOf(
      { file: "b.toml", text: grantText("a", "/home/box") },
      { file: "a.toml", text: `colour = 1\n${grantText("a", "/srv/a")}` },
      { file: "etc/tools.toml", text: "colour = 1\n" },
    ),
    [
      'a.toml:1: unknown key "colour"',
      'a.toml:2: id: "a" is also the id in b.toml',
      'b.toml:1: id: "a" is also the id in a.toml',
      'b.toml:5: constraints.paths: "/home/box" holds the box\'s own "/home/box/run", which no grant may name',
      'etc/tools.toml:1: unknown key "colour"',
    ],
  );
});
