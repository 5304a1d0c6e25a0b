/** Every attack, in a place of its own, on the runtime that the configuration names. */
import { existsSync, mkdirSync } from "node:fs";
import type { Clock } from "@boxmaker/edge/log";
import type { AbsPath } from "@boxmaker/proto";
import { openRuntime } from "../runner/open-runtime.ts";
import { memoryBytes, type RunnerConfig } from "../runner/runner-config.ts";
import { SandboxRuntime } from "../runner/sandbox-runtime.ts";
import { hardLinks, readLinks, swappedMount } from "./call-attacks.ts";
import { fetchAttacks } from "./fetch-attacks.ts";
import { makeBait, readProbes, scratchProbe, setIdProbe, writeProbes } from "./file-attacks.ts";
import { type AttackName, type BoxKind, combine, type Finding, skipped, type Verdict } from "./finding.ts";
import { FiringRange } from "./firing-range.ts";
import { commandInNetwork, networkProbes } from "./network-attacks.ts";
import { NetworkTarget } from "./network-target.ts";
import { type Probe, tryInOneBox } from "./one-box.ts";
import { OwnNetwork } from "./own-network.ts";
import { capabilities, endlessOutput, forkBomb, ignoredSignals, keptPipes, memory } from "./resource-attacks.ts";
import type { Target } from "./target.ts";
import { WaitingBoxes } from "./waiting-boxes.ts";

export interface AttackOptions {
  readonly runner: RunnerConfig;
  readonly clock: Clock;
  /** Takes what the runtime has to say. */
  readonly warn: (line: string) => void;
  /** Only these; all where it's empty. */
  readonly only: readonly AttackName[];
  readonly onFinding: (finding: Finding) => void;
  /** Ends the attacks before their time; what they made is removed all the same. */
  readonly stop: AbortSignal;
}

/** One run of all attacks on boxes of one kind. */
interface Round extends Omit<AttackOptions, "only" | "onFinding"> {
  readonly box: BoxKind;
  readonly range: FiringRange;
  readonly isWanted: (name: AttackName) => boolean;
  readonly tell: (verdict: Verdict) => void;
}

/** Where the runtime says that it can't enforce limits; see its opening. */
const NO_LIMITS = "boxes have no memory and process limits: ";

/** For those that run until they are stopped. Long enough for a box to start on a busy machine. */
const SHORT_MS = 4_000;
/** More than this needn't be used up to see that a limit holds. */
const MAX_PIDS = 64;
const MAX_MEMORY = 256 * 1024 * 1024;

type Attack = (target: Target, range: FiringRange) => Promise<Verdict>;

/** On boxes with the limits of the configuration. */
const ATTACKS_ALONE: readonly (readonly [AttackName, Attack])[] = [
  ["read-links", readLinks],
  ["hard-links", hardLinks],
  ["swapped-mount", swappedMount],
  ["capabilities", capabilities],
  ["fork-bomb", forkBomb],
  ["memory", memory],
  ["endless-output", endlessOutput],
];

/** What is tried on this machine's network, too. */
const PARTLY_IN_NETWORK: readonly AttackName[] = ["host-network", "dns", "metadata-address", "ipv6"];
/** What only a network can show in which names and pages lead astray. */
const IN_NETWORK: readonly AttackName[] = ["redirects", "userinfo", "private-names", "nat64", "proxy-asked"];

/** The runtimes' homes in a range. */
const HOMES = ["home", "home-of-fetches", "home-of-short-calls"] as const;

/** On boxes with a short time limit. */
const ENDLESS_ATTACKS: readonly (readonly [AttackName, Attack])[] = [
  ["ignored-signals", ignoredSignals],
  ["kept-pipes", keptPipes],
];

/**
 * Tries all of them, on boxes that are started for their call and, where the configuration has such, on boxes that waited for it.
 * What is made for it is removed, and a brokerd that runs isn't touched.
 *
 * @returns why nothing could be tried: one line that ends in a runbook pointer
 * @throws the system's errors: without a place nothing can be tried
 */
export async function runAttacks({ runner, clock, warn, only, onFinding, stop }: AttackOptions): Promise<string | undefined> {
  const kinds: readonly BoxKind[] = runner.pool === 0 || runner.runtime === "process" ? ["cold"] : ["cold", "waiting"];
  const config = {
    ...runner,
    pids: Math.min(runner.pids, MAX_PIDS),
    memory: memoryBytes(runner) > MAX_MEMORY ? String(MAX_MEMORY) : runner.memory,
  };
  await removeLeft({ ...config, pool: 0 });
  for (const box of kinds) {
    if (stop.aborted) break;
    await using range = FiringRange.open();
    const problem = await attackOnce({
      runner: box === "cold" ? { ...config, pool: 0 } : config,
      box,
      clock,
      warn,
      range,
      isWanted: (name) => only.length === 0 || only.includes(name),
      tell: (verdict) => {
        // What is stopped says nothing about the defence.
        if (!stop.aborted) onFinding({ ...verdict, box });
      },
      stop,
    });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The boxes of one that was killed are known by its home. */
async function removeLeft(runner: RunnerConfig): Promise<void> {
  for (const left of FiringRange.left()) {
    await using range = left;
    for (const name of HOMES.filter((home) => existsSync(range.at(home)))) {
      const opening = await openRuntime(runner, { home: range.at(name), warn: () => undefined });
      if (opening.kind === "ready") await opening.runtime[Symbol.asyncDispose]();
    }
  }
}

async function attackOnce(round: Round): Promise<string | undefined> {
  const { runner, range, isWanted, tell } = round;
  const parts: Verdict[] = [];
  const problem = await withTarget(round, runner, range.at("home"), async (target) => {
    for (const verdict of await tryProbes(target, range, isWanted)) {
      if (PARTLY_IN_NETWORK.includes(verdict.attack)) parts.push(verdict);
      else tell(verdict);
    }
    for (const [name, attack] of ATTACKS_ALONE) if (isWanted(name)) tell(await attack(target, range));
  });
  if (problem !== undefined) return problem;
  const inNetwork = [...PARTLY_IN_NETWORK, ...IN_NETWORK].filter(isWanted);
  if (inNetwork.length > 0) {
    parts.push(...(await attackInNetwork(round, inNetwork)));
    for (const name of inNetwork)
      tell(
        combine(
          name,
          parts.filter(({ attack }) => attack === name),
        ),
      );
  }
  const endless = ENDLESS_ATTACKS.filter(([name]) => isWanted(name));
  if (endless.length === 0) return undefined;
  const short = { ...runner, shell_ms: Math.min(runner.shell_ms, SHORT_MS) };
  return await withTarget(round, short, range.at("home-of-short-calls"), async (target) => {
    const attacks = endless.map(([, attack]) => attack);
    // Boxes wait for one call at a time.
    if (target.waiting !== null) for (const attack of attacks) tell(await attack(target, range));
    else for (const verdict of await Promise.all(attacks.map((attack) => attack(target, range)))) tell(verdict);
  });
}

/** Where there can be no such network, or no fetch, each of them is skipped with the reason. */
async function attackInNetwork(round: Round, names: readonly AttackName[]): Promise<readonly Verdict[]> {
  const { runner, clock, range, isWanted } = round;
  const skipAll = (why: string): readonly Verdict[] => names.map((name) => skipped(name, why));
  if (runner.runtime === "process") return skipAll("this runtime runs no commands and no fetches");
  const opening = await OwnNetwork.open(range, clock);
  if (opening.kind === "missing") return skipAll(opening.why);
  const { network } = opening;
  const config = network.configure(runner, range);
  if (config === undefined) return skipAll("this runtime runs no fetches");
  const home = range.at("home-of-fetches");
  const verdicts: Verdict[] = [];
  const problem = await withTarget(round, config, home, async (target) => {
    const field = new NetworkTarget(target, network, range);
    verdicts.push(...(await commandInNetwork(field, range, isWanted)));
    verdicts.push(...(await fetchAttacks(field, home, isWanted)));
  });
  return problem === undefined ? verdicts : skipAll(`the runtime can't run in a network made for it: ${problem}`);
}

async function withTarget(
  { box, clock, warn, stop }: Round,
  config: RunnerConfig,
  home: AbsPath,
  attack: (target: Target) => Promise<void>,
): Promise<string | undefined> {
  if (stop.aborted) return undefined;
  mkdirSync(home);
  const opening = await openRuntime(config, { home, warn });
  if (opening.kind === "refused") return opening.problem;
  await using runtime = opening.runtime;
  const limitsProblem = opening.notices.find((notice) => notice.startsWith(NO_LIMITS))?.slice(NO_LIMITS.length);
  const pool = runtime instanceof SandboxRuntime ? runtime.pool : null;
  const waiting = box === "waiting" && pool !== null ? new WaitingBoxes(runtime, pool, clock) : null;
  await attack({ runtime, config, reserved: opening.reserved, limitsProblem, clock, waiting, stop });
  return undefined;
}

async function tryProbes(target: Target, range: FiringRange, isWanted: (name: AttackName) => boolean): Promise<readonly Verdict[]> {
  const bait = makeBait(range);
  const setId = setIdProbe(range, bait);
  const network = await networkProbes(range, bait);
  const all: readonly Probe[] = [
    ...readProbes(range, bait),
    ...writeProbes(range, bait),
    ...(typeof setId === "string" ? [] : [setId]),
    ...network.probes,
    scratchProbe(range),
  ];
  const probes = all.filter(({ attack }) => isWanted(attack));
  const findings = probes.length === 0 ? [] : await tryInOneBox(target, probes, bait.grants, bait.readable);
  const notHere = [...(typeof setId === "string" ? [skipped("run-set-id", setId)] : []), ...network.findings];
  return [...findings, ...notHere.filter(({ attack }) => isWanted(attack))];
}
