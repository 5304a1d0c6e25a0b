/**
 * Mutation tests: `node tools/mutation/mutate.ts SET [FILE…]` changes the sources of a set in one small way after the other, runs the
 * set's tests against each change, and lists the changes that no test noticed.
 *
 * FILE is a source relative to the set's package, or a place in one as `FILE:LINE-LINE`, for a part of the set. Copies and reports go
 * to `build/mutation/`. The tool is no part of the gate and has a lock file of its own: `npm ci --prefix tools/mutation` installs it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../workspace/manifest.ts";
import { TOOL_ENVIRONMENT } from "../workspace/run.ts";
import { MUTATION_SETS, type MutationSet } from "./mutation-sets.ts";

/** The share of noticed changes, in percent, below which a run fails. */
const WANTED_SCORE = 90;
const STRYKER = join(import.meta.dirname, "node_modules", ".bin", "stryker");
const RUNNER = join(import.meta.dirname, "in-process-runner.ts");
const REPORTS = "build/mutation";

/** In the order of the patterns, and by name within one. */
function filesOf({ package: name }: MutationSet, patterns: readonly string[]): readonly string[] {
  return patterns.flatMap((pattern) => globSync(`packages/${name}/${pattern}`, { cwd: ROOT }).sort());
}

function configurationOf(name: string, set: MutationSet, sources: readonly string[]): object {
  return {
    mutate: sources.map((source) => `packages/${set.package}/${source}`),
    testRunner: "in-process",
    packageInProcess: `packages/${set.package}`,
    sourcesInProcess: filesOf(set, set.sources),
    testsInProcess: filesOf(set, set.tests),
    plugins: [RUNNER],
    warnings: { unknownOptions: false },
    // Mutants are cheap, and a busy machine would let tests fail by their deadlines.
    concurrency: 1,
    coverageAnalysis: "perTest",
    timeoutMS: 20_000,
    disableTypeChecks: false,
    ignorePatterns: ["/*", "!/package.json", "!/tsconfig.json", "!/packages", "/packages/*", `!/packages/${set.package}`],
    tempDirName: `${REPORTS}/sandboxes`,
    reporters: ["clear-text", "json", "progress-append-only"],
    clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false },
    jsonReporter: { fileName: `${REPORTS}/${name}.json` },
    thresholds: { high: 100, low: WANTED_SCORE, break: WANTED_SCORE },
    allowEmpty: false,
  };
}

function mutate(name: string, set: MutationSet, sources: readonly string[]): number {
  const file = join(ROOT, REPORTS, `${name}.configuration.json`);
  mkdirSync(join(ROOT, REPORTS), { recursive: true });
  writeFileSync(file, JSON.stringify(configurationOf(name, set, sources), null, 2));
  const run = spawnSync(process.execPath, [STRYKER, "run", file], {
    cwd: ROOT,
    // The mutants of a run are one text, of which a variable chooses one at a time: loading it anew takes most of the time.
    env: { ...TOOL_ENVIRONMENT, NODE_COMPILE_CACHE: join(ROOT, REPORTS, "compile-cache") },
    stdio: ["ignore", "inherit", "inherit"],
  });
  return run.status ?? 1;
}

const [name = "", ...parts] = process.argv.slice(2);
const set = Object.hasOwn(MUTATION_SETS, name) ? MUTATION_SETS[name] : undefined;
if (set === undefined) {
  process.stderr.write(`mutate: expected SET [FILE…], SET one of: ${Object.keys(MUTATION_SETS).join(", ")}\n`);
  process.exitCode = 2;
} else if (!existsSync(STRYKER)) {
  process.stderr.write("mutate: the tool isn't installed: run npm ci --prefix tools/mutation\n");
  process.exitCode = 1;
} else {
  process.exitCode = mutate(name, set, parts.length === 0 ? set.sources : parts);
}
