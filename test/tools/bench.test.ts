import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { compareInterleaved } from "../../bench/figure/sample.ts";
import { REPOSITORY } from "../architecture/seeded-tree.ts";

test("compareInterleaved() runs both equally often, one round more than counted", () => {
  const order: string[] = [];
  const ratio = compareInterleaved(
    () => order.push("subject"),
    () => order.push("reference"),
    2,
  );
  assert.deepEqual(order, ["subject", "reference", "subject", "reference", "subject", "reference"]);
  assert.equal(ratio > 0, true);
});

for (const args of [[], ["no-such-bench"], ["box", "--jsno"]]) {
  test(`bench lists what there is and ends with 2 when it is given "${args.join(" ")}"`, () => {
    const run = spawnSync(process.execPath, [join(REPOSITORY, "tools/bench.ts"), ...args], { encoding: "utf8" });
    assert.equal(run.status, 2);
    assert.equal(run.stdout, "");
    assert.match(run.stderr, /^bench: expected NAME \[--json\], NAME one of: .*\bbox\b.*\n$/u);
  });
}
