/** The set of grants that a command is about, from disk and without brokerd. */
import { resolve } from "node:path";
import { systemClock } from "@boxmaker/edge/log";
import type { GrantSet, ValidGrantSet } from "@boxmaker/policy";
import { GrantStore } from "@boxmaker/policy/grants";
import { AbsPath, escapeText, quoteText } from "@boxmaker/proto";
import { type BrokerConfig, readBrokerConfig } from "../box/broker-config.ts";
import { type Ended, end, type GrantsCommand } from "./grants-command.ts";

export type Loaded = { readonly kind: "ok"; readonly set: ValidGrantSet; readonly config: BrokerConfig } | Ended;

/** Reads the box's configuration, or ends with what is wrong. */
export async function loadConfig(command: GrantsCommand): Promise<{ readonly kind: "ok"; readonly config: BrokerConfig } | Ended> {
  const reading = await readBrokerConfig(command.places.home);
  return reading.kind === "ok" ? reading : end(command, 1, reading.problem);
}

/** The grants in a directory, with every check that brokerd makes, but for those of its runtime. */
export function readSet({ tools, labels, forbidden }: BrokerConfig, directory: AbsPath): Promise<GrantSet> {
  return new GrantStore({ directory, tools, labels, forbidden, clock: systemClock }).current();
}

/**
 * As {@link readSet}; every fault is said.
 *
 * @param directory as typed; the box's own unless given
 */
export async function loadSet(command: GrantsCommand, config: BrokerConfig, directory: string | undefined): Promise<Loaded> {
  const path = directory === undefined ? config.grants : AbsPath.safeParse(resolve(directory)).data;
  if (path === undefined) return end(command, 2, `${quoteText(directory ?? "")} can't be the path of a grants directory`);
  const set = await readSet(config, path);
  if (set.kind === "valid") return { kind: "ok", set, config };
  for (const { file, line, problem } of set.problems) {
    command.err.line(`${escapeText(file)}${line === 0 ? "" : `:${line}`}: ${escapeText(problem)}`);
  }
  const count = `${set.problems.length} ${set.problems.length === 1 ? "fault" : "faults"}`;
  return end(command, 1, `${quoteText(path)}: ${count}: by these grants every call is denied; see docs/runbook.md#grants-invalid`);
}

/** The box's own grants, or those in a directory that was typed. */
export async function loadOwn(command: GrantsCommand, directory: string | undefined): Promise<Loaded> {
  const reading = await loadConfig(command);
  return reading.kind === "ended" ? reading : await loadSet(command, reading.config, directory);
}
