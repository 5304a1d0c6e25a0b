/** What a call in a box costs: beside the same command line started bare, and in a box that was started ahead. */
import { SANDBOXES } from "../packages/brokerd/test/runner/sandboxes.ts";
import type { Figure } from "./figure/figure.ts";
import { BenchBox } from "./runner/bench-box.ts";
import { measureCold } from "./runner/cold.ts";
import { measureWarm } from "./runner/warm.ts";

export async function run(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const sandbox of SANDBOXES) {
    if (sandbox.skip !== false) {
      process.stderr.write(`bench: no figures of ${sandbox.name}, which ${sandbox.skip}\n`);
      continue;
    }
    await using box = await BenchBox.open(sandbox);
    figures.push(...(await measureCold(sandbox, box)), ...(await measureWarm(sandbox, box)));
  }
  return figures;
}
