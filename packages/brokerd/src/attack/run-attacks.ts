/** Every attack, in a place of its own, on the runtime that the configuration names. */
import { mkdirSync } from "node:fs";
import type { Clock } from "@boxmaker/edge/log";
import type { AbsPath } from "@boxmaker/proto";
import { openRuntime } from "../runner/open-runtime.ts";
import { memoryBytes, type RunnerConfig } from "../runner/runner-config.ts";
import { hardLinks, readLinks, swappedMount } from "./call-attacks.ts";
import { makeBait, readProbes, scratchProbe, setIdProbe, writeProbes } from "./file-attacks.ts";
import { type AttackName, type Finding, skipped } from "./finding.ts";
import { FiringRange } from "./firing-range.ts";
import { networkProbes } from "./network-attacks.ts";
import { type Probe, tryInOneBox } from "./one-box.ts";
import { capabilities, endlessOutput, forkBomb, ignoredSignals, keptPipes, memory } from "./resource-attacks.ts";
import type { Target } from "./target.ts";

export interface AttackOptions {
  readonly runner: RunnerConfig;
  readonly clock: Clock;
  /** Takes what the runtime has to say. */
  readonly warn: (line: string) => void;
  /** Only these; all where it's empty. */
  readonly only: readonly AttackName[];
  readonly onFinding: (finding: Finding) => void;
}

/** Where the runtime says that it can't enforce limits; see its opening. */
const NO_LIMITS = "boxes have no memory and process limits: ";

/** For those that run until they are stopped. Long enough for a box to start on a busy machine. */
const SHORT_MS = 4_000;
/** More than this needn't be used up to see that a limit holds. */
const MAX_PIDS = 64;
const MAX_MEMORY = 256 * 1024 * 1024;

type Attack = (target: Target, range: FiringRange) => Promise<Finding>;

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

/** What only a network of one's own can show: Boxmaker's tests of http_fetch have one. */
const NEEDS_A_NETWORK: readonly AttackName[] = ["redirects", "private-names", "nat64"];
const NO_NETWORK = "it needs a name server and a web server that answer so, which this machine doesn't have";

/** On boxes with a short time limit, at the same time. */
const ENDLESS_ATTACKS: readonly (readonly [AttackName, Attack])[] = [
  ["ignored-signals", ignoredSignals],
  ["kept-pipes", keptPipes],
];

/**
 * Tries all of them. Nothing is left of it, and a brokerd that runs isn't touched.
 *
 * @returns why nothing could be tried: one line that ends in a runbook pointer
 * @throws the system's errors: without a place nothing can be tried
 */
export async function runAttacks(options: AttackOptions): Promise<string | undefined> {
  const { runner, only, onFinding } = options;
  const isWanted = (name: AttackName): boolean => only.length === 0 || only.includes(name);
  await using range = FiringRange.open();
  const config = {
    ...runner,
    pids: Math.min(runner.pids, MAX_PIDS),
    memory: memoryBytes(runner) > MAX_MEMORY ? String(MAX_MEMORY) : runner.memory,
  };
  const problem = await withTarget(options, config, range.at("home"), async (target) => {
    for (const finding of await tryProbes(target, range, isWanted)) onFinding(finding);
    for (const [name, attack] of ATTACKS_ALONE) if (isWanted(name)) onFinding(await attack(target, range));
    for (const name of NEEDS_A_NETWORK) if (isWanted(name)) onFinding(skipped(name, NO_NETWORK));
  });
  const endless = ENDLESS_ATTACKS.filter(([name]) => isWanted(name));
  if (problem !== undefined || endless.length === 0) return problem;
  const short = { ...config, shell_ms: Math.min(runner.shell_ms, SHORT_MS) };
  return await withTarget(options, short, range.at("home-of-short-calls"), async (target) => {
    for (const finding of await Promise.all(endless.map(([, attack]) => attack(target, range)))) onFinding(finding);
  });
}

async function withTarget(
  { clock, warn }: AttackOptions,
  config: RunnerConfig,
  home: AbsPath,
  attack: (target: Target) => Promise<void>,
): Promise<string | undefined> {
  mkdirSync(home);
  const opening = await openRuntime(config, { home, warn });
  if (opening.kind === "refused") return opening.problem;
  await using runtime = opening.runtime;
  const limitsProblem = opening.notices.find((notice) => notice.startsWith(NO_LIMITS))?.slice(NO_LIMITS.length);
  await attack({ runtime, config, reserved: opening.reserved, limitsProblem, clock });
  return undefined;
}

async function tryProbes(target: Target, range: FiringRange, isWanted: (name: AttackName) => boolean): Promise<readonly Finding[]> {
  const bait = makeBait(range);
  const setId = setIdProbe(range, bait);
  const network = await networkProbes(range, bait);
  const all: readonly Probe[] = [
    ...readProbes(range, bait),
    ...writeProbes(range, bait),
    ...(typeof setId === "string" ? [] : [setId]),
    ...network.probes,
    scratchProbe(range, bait),
  ];
  const probes = all.filter(({ attack }) => isWanted(attack));
  const findings = probes.length === 0 ? [] : await tryInOneBox(target, probes, bait.grants);
  const notHere = [...(typeof setId === "string" ? [skipped("run-set-id", setId)] : []), ...network.findings];
  return [...findings, ...notHere.filter(({ attack }) => isWanted(attack))];
}
