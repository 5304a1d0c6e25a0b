/** The commands of the table of paths, in each sandbox of this machine. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import { buildRunSpec } from "../../packages/brokerd/src/runner/run-spec.ts";
import type { Runtime } from "../../packages/brokerd/src/runner/runtime.ts";
import { decideCall } from "../../packages/brokerd/test/runner/decisions.ts";
import { SANDBOXES } from "../../packages/brokerd/test/runner/sandboxes.ts";
import { cell, inputOf, loadTable, titleOf } from "./cases.ts";
import { PlaceTree } from "./place-tree.ts";

const ROWS = loadTable("path-cases.tsv");
const COMMANDS = ROWS.filter((row) => cell(row, "kind") === "shell");

for (const sandbox of SANDBOXES) {
  describe(`commands of the table in a box of ${sandbox.name}`, { skip: sandbox.skip }, () => {
    let tree: PlaceTree;
    let runtime: Runtime;

    before(async () => {
      tree = await PlaceTree.make(ROWS.filter((row) => cell(row, "kind") === "fixture"));
      const opening = await sandbox.open(AbsPath.parse(`${tree.root}/state`), { shell_ms: 2000 });
      assert.ok(opening.kind === "ready", opening.kind === "refused" ? opening.problem : "");
      runtime = opening.runtime;
    });

    after(async () => {
      await runtime[Symbol.asyncDispose]();
      await tree[Symbol.asyncDispose]();
    });

    assert.ok(COMMANDS.length > 0);
    for (const row of COMMANDS) {
      test(titleOf(row), async () => {
        const outside = tree.outside();
        const command = tree.at(inputOf(row));
        const decision = decideCall(runtime, { tool: "shell", arguments: { command }, paths: [`${tree.root}/notes`] });
        const outcome = await runtime.run(buildRunSpec(decision), { signal: new AbortController().signal });
        const isOk = outcome.kind === "done" && outcome.status === "ok" && !/\[exit status [1-9]/u.test(outcome.content);
        assert.equal(isOk ? "ok" : "refuse", cell(row, "here"), JSON.stringify(outcome).slice(0, 500));
        assert.doesNotMatch(outcome.kind === "done" ? outcome.content : "", /SECRET|STATE/u);
        assert.equal(tree.outside(), outside);
      });
    }
  });
}
