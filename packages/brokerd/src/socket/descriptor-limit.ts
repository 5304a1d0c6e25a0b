/** Whether the kernel gives brokerd the descriptors that its own limits let clients and boxes take. */
import { readFile } from "node:fs/promises";
import type { Config } from "../config/config.ts";

/** Pipes and files of one box, as many as there are at its start. */
const PER_BOX = 8;
/** The log, the grants while they are read, standard streams, Node's own. */
const OWN = 64;

/** How many descriptors brokerd may need at the same time. */
export function neededDescriptors({ sockets, limits, runner }: Pick<Config, "sockets" | "limits" | "runner">): number {
  const served = sockets.brokerMcp === null ? 2 : 3;
  return served * limits.connections + (runner?.max_boxes ?? 0) * PER_BOX + OWN;
}

/** The number of descriptors in the text of `/proc/self/limits` (proc(5)). Infinite where there is no limit, or none that can be read. */
export function descriptorLimit(text: string): number {
  const [, soft] = /^Max open files +(\S+)/mu.exec(text) ?? [];
  const limit = Number(soft);
  return Number.isSafeInteger(limit) ? limit : Number.POSITIVE_INFINITY;
}

/** One line where clients could take the last descriptor before a limit of the configuration stops them. */
export async function descriptorNotice(config: Config): Promise<readonly string[]> {
  // Where the limit can't be read nothing is known to be wrong: what it would say is advice.
  const limit = descriptorLimit(await readFile("/proc/self/limits", "utf8").catch(() => ""));
  const needed = neededDescriptors(config);
  if (limit >= needed) return [];
  return [
    `the limits in the config let clients and boxes take ${needed} descriptors, and the system gives ${limit}; see docs/runbook.md#too-few-descriptors`,
  ];
}
