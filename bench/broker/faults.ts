/** brokerd killed a thousand times under load, and asks ended in several ways at the same moment: what went wrong, counted. */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { KilledBox, LOAD_SESSIONS } from "../../packages/brokerd/test/support/killed-box.ts";
import { ENDINGS, type RaceTally, raceEndings } from "../../packages/brokerd/test/support/races.ts";
import type { Figure } from "../figure/figure.ts";

const KILLS = 1000;
/** A box's log grows with its lives. */
const LIVES_A_BOX = 25;
const TOOLKIT = fileURLToPath(new URL("../../packages/toolkit/dist/toolkit.mjs", import.meta.url));
const ROUNDS_A_PAIR = 1000;

function report(what: string, problems: readonly string[]): void {
  for (const problem of problems.slice(0, 5)) process.stderr.write(`bench: ${what}: ${problem}\n`);
}

/** brokerd in one file, which starts in a third of the time: what is measured is what a kill leaves, as often as possible. */
function bundleBroker(folder: string): string {
  const outfile = join(folder, "brokerd.mjs");
  buildSync({
    entryPoints: [fileURLToPath(new URL("../../packages/brokerd/src/main.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    platform: "node",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
    outfile,
  });
  return outfile;
}

/** Kills `kills` times, as many boxes side by side as there are processors. */
export async function measureKills(kills: number = KILLS): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-bench-"));
  const sum = { kills: 0, answers: 0, actions: 0, lost: 0, unrecorded: 0, unsound: 0 };
  let left = kills;
  const options = { program: bundleBroker(folder), toolkit: TOOLKIT, environment: { NODE_COMPILE_CACHE: join(folder, "cache") } };
  const lane = async (): Promise<void> => {
    while (left > 0) {
      const lives = Math.min(left, LIVES_A_BOX);
      left -= lives;
      await using box = new KilledBox(options);
      await box.finish();
      for (let life = 0; life < lives; life++) await box.life();
      await box.finish();
      const { lost, unrecorded, unsound, actions } = box.check;
      report("lost", lost);
      report("unrecorded", unrecorded);
      report("unsound", unsound);
      sum.kills += box.kills;
      sum.answers += box.answers;
      sum.actions += actions;
      sum.lost += lost.length;
      sum.unrecorded += unrecorded.length;
      sum.unsound += unsound.length;
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, lane));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const of = `${sum.kills} kills under ${LOAD_SESSIONS} sessions`;
  return [
    { name: "kills", value: sum.kills, unit: "count", against: null },
    { name: "acknowledged_lost", value: sum.lost, unit: "count", against: `${sum.answers} answers over ${of}` },
    { name: "unrecorded_actions", value: sum.unrecorded, unit: "count", against: `${sum.actions} files written over ${of}` },
    { name: "unsound_logs", value: sum.unsound, unit: "count", against: of },
  ];
}

/** Every pair of ends of an ask, and all four at once. */
export async function measureRaces(rounds: number = ROUNDS_A_PAIR): Promise<readonly Figure[]> {
  const tallies: RaceTally[] = [];
  for (const [index, first] of ENDINGS.entries())
    for (const second of ENDINGS.slice(index)) tallies.push(await raceEndings([first, second], rounds));
  tallies.push(await raceEndings(ENDINGS, rounds));
  const faults = tallies.flatMap((tally) => tally.faults);
  report("race", faults);
  const raced = tallies.reduce((sum, { wins }) => sum + wins.approve + wins.refuse + wins.expire + wins.gone, 0);
  return [
    { name: "race_faults", value: faults.length, unit: "count", against: `${raced} asks, each ended in several ways at once` },
  ];
}
