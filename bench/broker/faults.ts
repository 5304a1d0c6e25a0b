/** brokerd killed a thousand times under load, and asks ended in several ways at the same moment: what went wrong, counted. */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { SANDBOXES, type Sandbox } from "../../packages/brokerd/test/runner/sandboxes.ts";
import { KilledBox, LOAD_SESSIONS } from "../../packages/brokerd/test/support/killed-box.ts";
import { ENDINGS, type RaceTally, raceEndings } from "../../packages/brokerd/test/support/races.ts";
import type { Figure } from "../figure/figure.ts";

const KILLS = 1000;
/** A start with a sandbox takes several times as long. */
const SANDBOX_SHARE = { podman: 0.04, bubblewrap: 0.06 };
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

/** How often brokerd is killed with boxes of each kind; the process runtime has the rest. */
interface Share {
  readonly sandbox: Sandbox | undefined;
  readonly kills: number;
}

/** Where a sandbox isn't on this machine, its share is the process runtime's, and the figure of its kills says 0. */
function sharesOf(kills: number, sandboxes: readonly Sandbox[]): readonly Share[] {
  const shares = sandboxes
    .filter(({ skip }) => skip === false)
    .map((sandbox) => ({
      sandbox,
      kills: Math.ceil(kills * SANDBOX_SHARE[sandbox.name]),
    }));
  const rest = kills - shares.reduce((sum, share) => sum + share.kills, 0);
  return [...shares, { sandbox: undefined, kills: Math.max(0, rest) }];
}

class Tally {
  readonly #kills = new Map<string, number>();
  answers = 0;
  actions = 0;
  lost = 0;
  unrecorded = 0;
  unsound = 0;
  left = 0;
  containers = 0;

  get kills(): number {
    return this.#kills.values().reduce((sum, kills) => sum + kills, 0);
  }

  killsWith(runtime: string): number {
    return this.#kills.get(runtime) ?? 0;
  }

  add(runtime: string, box: KilledBox): void {
    const { lost, unrecorded, unsound, actions } = box.check;
    report("lost", lost);
    report("unrecorded", unrecorded);
    report("unsound", unsound);
    report("left", box.leftovers);
    this.#kills.set(runtime, this.killsWith(runtime) + box.kills);
    this.answers += box.answers;
    this.actions += actions;
    this.lost += lost.length;
    this.unrecorded += unrecorded.length;
    this.unsound += unsound.length;
    this.left += box.leftovers.length;
    this.containers += box.containers;
  }
}

/** Kills `kills` times, as many boxes side by side as there are processors. */
export async function measureKills(
  kills: number = KILLS,
  sandboxesHere: readonly Sandbox[] = SANDBOXES,
): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-bench-"));
  const tally = new Tally();
  const shares = sharesOf(kills, sandboxesHere);
  const work = shares.flatMap(({ sandbox, kills: share }) =>
    Array.from({ length: Math.ceil(share / LIVES_A_BOX) }, (_, box) => ({
      sandbox,
      lives: Math.min(LIVES_A_BOX, share - box * LIVES_A_BOX),
    })),
  );
  const program = { program: bundleBroker(folder), toolkit: TOOLKIT, environment: { NODE_COMPILE_CACHE: join(folder, "cache") } };
  const lane = async (): Promise<void> => {
    for (let next = work.shift(); next !== undefined; next = work.shift()) {
      const { sandbox, lives } = next;
      await using box = new KilledBox(sandbox === undefined ? program : { ...program, sandbox });
      await box.finish();
      for (let life = 0; life < lives; life++) await box.life();
      await box.finish();
      tally.add(sandbox?.name ?? "process", box);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, lane));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const of = `${tally.kills} kills under load, of ${LOAD_SESSIONS} sessions with the process runtime`;
  const sandboxes = Object.keys(SANDBOX_SHARE).map((name) => tally.killsWith(name));
  return [
    { name: "kills", value: tally.kills, unit: "count", against: null },
    {
      name: "kills_in_sandboxes",
      value: sandboxes.reduce((sum, one) => sum + one),
      unit: "count",
      against: `of them, with ${Object.keys(SANDBOX_SHARE).join(" and ")}: ${sandboxes.join(" and ")}`,
    },
    { name: "acknowledged_lost", value: tally.lost, unit: "count", against: `${tally.answers} answers over ${of}` },
    { name: "unrecorded_actions", value: tally.unrecorded, unit: "count", against: `${tally.actions} files written over ${of}` },
    { name: "unsound_logs", value: tally.unsound, unit: "count", against: of },
    {
      name: "boxes_left",
      value: tally.left,
      unit: "count",
      against: `after the next start; ${tally.containers} containers were there when brokerd was killed`,
    },
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
