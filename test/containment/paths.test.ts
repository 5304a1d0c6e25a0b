/** Every path of the table on its way through grammar, grants and the file tools, and every grant of it through the loader. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Case, cell, inputOf, loadTable, titleOf } from "./cases.ts";
import { loadProblem, pass, tableGrants } from "./path-pipeline.ts";
import { PlaceTree } from "./place-tree.ts";

const ROWS = loadTable("path-cases.tsv");

function rowsOf(kind: string): readonly Case[] {
  const rows = ROWS.filter((row) => cell(row, "kind") === kind);
  assert.ok(rows.length > 0);
  return rows;
}

/** What a fixture's row says that its file holds. */
function contentOf(path: string): string | undefined {
  const row = rowsOf("fixture").find((each) => cell(each, "tool") === "file" && inputOf(each) === path);
  return row === undefined ? undefined : cell(row, "why").replace("content: ", "");
}

describe("the table of paths", () => {
  let tree: PlaceTree;

  before(async () => {
    tree = await PlaceTree.make(rowsOf("fixture"));
  });

  after(() => tree[Symbol.asyncDispose]());

  test("every argument of a file tool is judged as the table says, and nothing outside of the grants is read or changed", (context) => {
    const grants = tableGrants(tree.root);
    const outside = tree.outside();
    if (tree.missing.length > 0) context.diagnostic(`without devices, which take root: ${tree.missing.join(" ")}`);
    for (const row of rowsOf("arg")) {
      const passage = pass(cell(row, "tool"), tree.at(inputOf(row)), grants);
      if (passage.kind === "refused") {
        assert.deepEqual(["refuse", passage.by], [cell(row, "here"), cell(row, "by")], titleOf(row));
      } else {
        assert.equal(cell(row, "here"), "ok", titleOf(row));
        const expected = contentOf(inputOf(row));
        if (cell(row, "tool") === "read_file" && expected !== undefined) assert.equal(passage.content, expected, titleOf(row));
      }
      assert.equal(tree.outside(), outside, titleOf(row));
    }
  });

  test("every grant is loaded, or refused by the loader in one line, as the table says", async () => {
    const forbidden = [tree.at("{F}/state"), "/home/me/boxmaker/etc", "/var/lib/containers/storage"];
    for (const row of rowsOf("grant")) {
      const problem = await loadProblem(tree.at(inputOf(row)), forbidden);
      assert.equal(problem === undefined ? "ok" : "refuse", cell(row, "here"), `${titleOf(row)}: ${problem}`);
      if (problem !== undefined) assert.match(problem, /^[\x20-\x7e]+$/u);
      assert.equal(cell(row, "by"), problem === undefined ? "-" : "loader", titleOf(row));
    }
  });
});

test("where a row and what is advised disagree, docs/decisions.md says why", () => {
  const asAdvised: Readonly<Record<string, string>> = { "refuse-policy": "refuse", "ok-warn": "ok" };
  const disagreeing = [...rowsOf("arg"), ...rowsOf("grant"), ...rowsOf("shell")].filter((row) => {
    const expect = cell(row, "expect");
    return (asAdvised[expect] ?? expect) !== cell(row, "here");
  });
  assert.deepEqual(
    disagreeing.map((row) => cell(row, "id")),
    ["P017", "P031", "P045", "P061", "P143", "P183", "P185", "P217", "P221"],
  );
});

test("no row is left out", () => {
  const known = new Set(["fixture", "arg", "grant", "shell"]);
  assert.deepEqual(
    ROWS.filter((row) => !known.has(cell(row, "kind"))),
    [],
  );
});
