/** Every attack, in a place of its own, on the runtime that the configuration names. */
import { mkdirSync } from "node:fs";
import type { Clock } from "@boxmaker/edge/log";
import { openRuntime } from "../runner/open-runtime.ts";
import type { RunnerConfig } from "../runner/runner-config.ts";
import { hardLinks, readLinks, swappedMount } from "./call-attacks.ts";
import { makeBait, readProbes, setIdProbe, writeProbes } from "./file-attacks.ts";
import { type AttackName, type Finding, skipped } from "./finding.ts";
import { FiringRange } from "./firing-range.ts";
import { type Probe, tryInOneBox } from "./one-box.ts";
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

type Attack = (target: Target, range: FiringRange) => Promise<readonly Finding[]>;

/**
 * Tries all of them. Nothing is left of it, and a brokerd that runs isn't touched.
 *
 * @returns why nothing could be tried: one line that ends in a runbook pointer
 * @throws the system's errors: without a place nothing can be tried
 */
export async function runAttacks({ runner, clock, warn, only, onFinding }: AttackOptions): Promise<string | undefined> {
  await using range = FiringRange.open();
  const home = range.at("home");
  mkdirSync(home);
  const opening = await openRuntime(runner, { home, warn });
  if (opening.kind === "refused") return opening.problem;
  await using runtime = opening.runtime;
  const limits = opening.notices.find((notice) => notice.startsWith(NO_LIMITS))?.slice(NO_LIMITS.length);
  const target: Target = { runtime, config: runner, reserved: opening.reserved, limitsProblem: limits, clock };
  const isWanted = (name: AttackName): boolean => only.length === 0 || only.includes(name);
  const alone = (name: AttackName, attack: (target: Target, range: FiringRange) => Promise<Finding>): readonly Attack[] =>
    isWanted(name) ? [async () => [await attack(target, range)]] : [];
  const attacks: readonly Attack[] = [
    (...at) => tryProbes(...at, isWanted),
    ...alone("read-links", readLinks),
    ...alone("hard-links", hardLinks),
    ...alone("swapped-mount", swappedMount),
  ];
  for (const attack of attacks) for (const finding of await attack(target, range)) onFinding(finding);
  return undefined;
}

async function tryProbes(target: Target, range: FiringRange, isWanted: (name: AttackName) => boolean): Promise<readonly Finding[]> {
  const bait = makeBait(range);
  const setId = setIdProbe(range, bait);
  const all: readonly Probe[] = [
    ...readProbes(range, bait),
    ...writeProbes(range, bait),
    ...(typeof setId === "string" ? [] : [setId]),
  ];
  const probes = all.filter(({ attack }) => isWanted(attack));
  const findings = probes.length === 0 ? [] : await tryInOneBox(target, probes, bait.grants);
  return typeof setId === "string" && isWanted("run-set-id") ? [...findings, skipped("run-set-id", setId)] : findings;
}
