import assert from "node:assert/strict";
import { test } from "node:test";
import { BenchBox } from "../../bench/runner/bench-box.ts";
import { measureCold } from "../../bench/runner/cold.ts";
import { measureWarm } from "../../bench/runner/warm.ts";
import { SANDBOXES } from "../../packages/brokerd/test/runner/sandboxes.ts";

for (const sandbox of SANDBOXES) {
  test(`the runner's figures of ${sandbox.name} have their names, on one call of each kind`, { skip: sandbox.skip }, async () => {
    await using box = await BenchBox.open(sandbox);
    const figures = [...(await measureCold(sandbox, box, 1)), ...(await measureWarm(sandbox, box, 1))];
    const named = new Map(figures.map(({ name, value }) => [name, value]));
    for (const name of ["vs_bare", "cold_ms", "bare_ms", "warm_ms", "warm_p90_ms", "warm_shell_ms"]) {
      assert.ok((named.get(`${sandbox.name}_${name}`) ?? 0) > 0, name);
    }
  });
}
