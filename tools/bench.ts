/** Runs one file of figures: `npm run bench -- NAME [--json]`. Without a known NAME it lists what there is. */
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import type { Figure } from "../bench/figure/figure.ts";

const folder = join(import.meta.dirname, "..", "bench");
const names = globSync("*.ts", { cwd: folder })
  .map((path) => basename(path, ".ts"))
  .sort();

/** Four significant digits: more would be noise. */
function round(value: number): number {
  return Number(value.toPrecision(4));
}

function describe({ name, value, unit, against }: Figure): string {
  return `${name}  ${round(value)} ${unit}${against === null ? "" : `, against ${against}`}`;
}

async function runBench(name: string): Promise<readonly Figure[]> {
  const bench = (await import(join(folder, `${name}.ts`))) as { run: () => Promise<readonly Figure[]> };
  return bench.run();
}

const [name, ...options] = process.argv.slice(2);
if (name === undefined || !names.includes(name) || options.some((option) => option !== "--json")) {
  process.stderr.write(`bench: expected NAME [--json], NAME one of: ${names.join(", ")}\n`);
  process.exitCode = 2;
} else {
  const figures = await runBench(name);
  for (const figure of figures) process.stdout.write(`${describe(figure)}\n`);
  if (options.includes("--json")) process.stdout.write(`${JSON.stringify(figures)}\n`);
}
