/** What the owner says of trees, beside what holds of credential places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Label, PathLabel } from "@boxmaker/proto";
import { ownerLabels } from "../../src/rules/path-labels.ts";
import { path } from "./support.ts";

const SECRET: Label = { taint: "secret", untrusted: false };
const PUBLIC: Label = { taint: "public", untrusted: false };

function labelsOf(at: string, ...trees: readonly string[]): readonly string[] {
  const owner: readonly PathLabel[] = trees.map((tree) => ({ path: path(tree), label: PUBLIC }));
  return ownerLabels(path(at), owner).map((entry) => `${entry.path} ${entry.label.taint}`);
}

test("a credential place is secret where the owner says nothing of it", () => {
  assert.deepEqual(ownerLabels(path("/home/me/.ssh/id"), []), [{ path: "/home/me/.ssh", label: SECRET }]);
  assert.deepEqual(labelsOf("/home/me/notes"), []);
});

test("what the owner says of the place itself, or of a part of it that holds the path, replaces that", () => {
  assert.deepEqual(labelsOf("/home/me/.ssh/id", "/home/me/.ssh"), ["/home/me/.ssh public"]);
  assert.deepEqual(labelsOf("/home/me/.ssh/keys/id", "/home/me/.ssh/keys"), ["/home/me/.ssh/keys public"]);
});

test("that only strangers' words lie in a part of a place takes no secret back", () => {
  const known = path("/home/me/.ssh/known");
  const tree = { path: known, label: { taint: "public", untrusted: true }, isClassUnsaid: true } as const;
  assert.deepEqual(
    ownerLabels(known, [tree]).map((entry) => `${entry.path} ${entry.label.taint}`),
    ["/home/me/.ssh/known public", "/home/me/.ssh secret"],
  );
});

test("what the owner says of a broader tree, or of another part of the place, doesn't", () => {
  assert.deepEqual(labelsOf("/home/me/.ssh/id", "/home/me"), ["/home/me public", "/home/me/.ssh secret"]);
  assert.deepEqual(labelsOf("/home/me/.ssh/id", "/home/me/.ssh/keys"), ["/home/me/.ssh secret"]);
  assert.deepEqual(labelsOf("/home/me/.ssh", "/home/me/.ssh/keys"), ["/home/me/.ssh/keys public", "/home/me/.ssh secret"]);
});
