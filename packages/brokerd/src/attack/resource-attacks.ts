/** Attacks of a command on what it shares with the rest of the machine: processes, memory, time, output. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { memoryBytes } from "../runner/runner-config.ts";
import { type AttackName, failed, held, skipped, type Verdict } from "./finding.ts";
import type { FiringRange } from "./firing-range.ts";
import { processesWith, readProcess, sleepMark, waitUntil } from "./host-processes.ts";
import { NODE } from "./one-box.ts";
import { aim, fire, phraseShot, type Shot, type Target } from "./target.ts";

const NO_COMMANDS = "this runtime runs no commands";
/** How long the processes of a box that was ended may still be seen. */
const GONE_MS = 5_000;
const CHUNK = 16 * 1024 * 1024;
/** What a tool may say beyond its capped output. */
const NOTE_BYTES = 8192;

/** Runs one command in a granted folder of its own. */
async function command(target: Target, range: FiringRange, attack: AttackName, script: string): Promise<Shot | Verdict> {
  if (target.runtime.name === "process") return skipped(attack, NO_COMMANDS);
  const folder = range.folder(attack);
  const aimed = aim(target, {
    tool: "shell",
    arguments: { command: `cd ${folder}\n${script}` },
    grants: [{ tool: "shell", mode: "auto", constraints: { paths: [folder] } }],
  });
  if (aimed.kind === "refused") return failed(attack, `it couldn't be tried: ${aimed.reason}`);
  return fire(target, aimed, target.config.shell_ms);
}

function needsLimits({ limitsProblem, runtime }: Target): string | undefined {
  if (runtime.name === "process") return NO_COMMANDS;
  return limitsProblem === undefined ? undefined : `boxes have no such limit here: ${limitsProblem}`;
}

function isLeft(target: Target, mark: string): Promise<boolean> {
  return waitUntil(target.clock, GONE_MS, () => processesWith(mark).length === 0).then((gone) => !gone);
}

/** Not one without an end: where nothing stops it, it stops a little above the limit. */
export async function forkBomb(target: Target, range: FiringRange): Promise<Verdict> {
  const why = needsLimits(target);
  if (why !== undefined) return skipped("fork-bomb", why);
  const { pids, shell_ms } = target.config;
  const mark = sleepMark();
  const folder = range.folder("fork-bomb");
  // Beyond the limit the shell can do only what needs no process.
  const script = `(i=0; while [ $i -lt ${pids * 2} ]; do sleep ${mark} & i=$((i+1)); done) > /dev/null 2>&1
: > started; while [ ! -e counted ]; do :; done; echo tried`;
  const running = command(target, range, "fork-bomb", script);
  await waitUntil(target.clock, shell_ms, () => existsSync(`${folder}/started`) || target.stop.aborted);
  const count = processesWith(mark).filter(({ command: line }) => line.startsWith("sleep ")).length;
  writeFileSync(`${folder}/counted`, "");
  const shot = await running;
  if ("attack" in shot) return shot;
  if (count > pids) return failed("fork-bomb", `${count} processes ran, the limit is ${pids}`);
  if (shot.kind !== "done" || count === 0) return failed("fork-bomb", `it couldn't be tried: ${phraseShot(shot)}`);
  if (await isLeft(target, mark)) return failed("fork-bomb", "processes were left after the call");
  return held("fork-bomb", `${count} processes could run, the limit is ${pids}; none is left`);
}

/** Twice what a box may have. */
export async function memory(target: Target, range: FiringRange): Promise<Verdict> {
  const why = needsLimits(target);
  if (why !== undefined) return skipped("memory", why);
  const chunks = Math.ceil((memoryBytes(target.config) * 2) / CHUNK);
  const program = `const kept = []; for (let i = 0; i < ${chunks}; i++) kept.push(Buffer.alloc(${CHUNK}, 1)); require("fs").writeFileSync("allocated", String(kept.length))`;
  const shot = await command(target, range, "memory", `: > started; ${NODE} -e '${program}'`);
  if ("attack" in shot) return shot;
  if (existsSync(range.at("memory/allocated"))) return failed("memory", `twice ${target.config.memory} could be used`);
  const isTried =
    existsSync(range.at("memory/started")) && (shot.kind === "done" || (shot.kind === "error" && shot.code === "killed"));
  return isTried
    ? held("memory", `it was killed before it had twice ${target.config.memory}`)
    : failed("memory", `it couldn't be tried: ${phraseShot(shot)}`);
}

export async function endlessOutput(target: Target, range: FiringRange): Promise<Verdict> {
  const shot = await command(target, range, "endless-output", "yes | head -c 100000000");
  if ("attack" in shot) return shot;
  if (shot.kind !== "done") return failed("endless-output", phraseShot(shot));
  const bytes = Buffer.byteLength(shot.content);
  const { output_cap } = target.config;
  if (bytes > output_cap + NOTE_BYTES) return failed("endless-output", `${bytes} bytes came out, the cap is ${output_cap}`);
  return shot.truncated
    ? held("endless-output", `${bytes} bytes came out, and the call ended`)
    : failed("endless-output", `it couldn't be tried: ${phraseShot(shot)}`);
}

async function outlive(target: Target, range: FiringRange, attack: AttackName, script: (mark: string) => string): Promise<Verdict> {
  const mark = sleepMark();
  const shot = await command(target, range, attack, `: > started; ${script(mark)}`);
  if ("attack" in shot) return shot;
  if (!existsSync(range.at(`${attack}/started`))) return failed(attack, `it couldn't be tried: ${phraseShot(shot)}`);
  if (await isLeft(target, mark)) return failed(attack, `a process was left; ${phraseShot(shot)}`);
  if (shot.kind !== "error" || shot.code !== "timed_out") return failed(attack, phraseShot(shot));
  return held(attack, `the call was ended at its limit of ${target.config.shell_ms} ms, and no process is left`);
}

export function ignoredSignals(target: Target, range: FiringRange): Promise<Verdict> {
  const script = (mark: string): string => `trap '' TERM INT HUP QUIT; while :; do sleep ${mark}; done`;
  return outlive(target, range, "ignored-signals", script);
}

export function keptPipes(target: Target, range: FiringRange): Promise<Verdict> {
  const program = (mark: string): string =>
    `require("child_process").spawn("sleep", ["${mark}"], { detached: true, stdio: "inherit" }).unref()`;
  return outlive(target, range, "kept-pipes", (mark) => `${NODE} -e '${program(mark)}'; exit 0`);
}

/** What every process of a box has: no capability in any set, no way to gain one, and a filter. */
const POWERLESS = [/^Cap(?:Inh|Prm|Eff|Bnd|Amb):\t0+$/u, /^NoNewPrivs:\t1$/u, /^Seccomp:\t2$/u];
const POWERS = /^(?:Cap(?:Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):/u;

/** Looks at the box's processes from outside, while it tries to open a raw socket. */
export async function capabilities(target: Target, range: FiringRange): Promise<Verdict> {
  if (target.runtime.name === "process") return skipped("capabilities", NO_COMMANDS);
  const mark = sleepMark();
  const folder = range.folder("capabilities");
  const secret = range.secret();
  const script = `command -v perl > perl
perl -MSocket -e 'print "${secret}\\n" if socket(my $raw, PF_INET, SOCK_RAW, 1) or socket($raw, 17, SOCK_RAW, 0)'
: > started; i=0; while [ ! -e seen ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; echo end of ${mark}`;
  const running = command(target, range, "capabilities", script);
  await waitUntil(target.clock, target.config.shell_ms, () => existsSync(`${folder}/started`) || target.stop.aborted);
  const lines = processesWith(mark).flatMap(
    ({ id }) =>
      readProcess(id, "status")
        ?.split("\n")
        .filter((line) => POWERS.test(line)) ?? [],
  );
  writeFileSync(`${folder}/seen`, "");
  const shot = await running;
  if ("attack" in shot) return shot;
  if (shot.kind !== "done") return failed("capabilities", `it couldn't be tried: ${phraseShot(shot)}`);
  if (shot.content.includes(secret)) return failed("capabilities", "a raw socket was opened");
  if (lines.length === 0) return skipped("capabilities", "the processes of a box can't be seen from outside");
  const raw =
    readFileSync(`${folder}/perl`, "utf8") === ""
      ? "a raw socket couldn't be asked for, without perl in the box"
      : "no raw socket was opened";
  const power = lines.find((line) => !POWERLESS.some((none) => none.test(line)));
  return power === undefined
    ? held("capabilities", `no capability in any set, no new privileges, a filter; ${raw}`)
    : failed("capabilities", `a process of the box has ${power.replace("\t", " ")}`);
}
