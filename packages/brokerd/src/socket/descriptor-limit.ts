/**
 * How many descriptors the kernel gives brokerd, and how many of them clients may hold: never the last one. Without one, a text that a record
 * names can't be kept, which stops the log for good.
 */
import { readFile } from "node:fs/promises";
import { type Config, socketPaths } from "../config/config.ts";

/** Pipes and files of one box, as many as there are at its start. */
const PER_BOX = 8;
/** The log, the grants while they are read, standard streams, Node's own. */
const OWN = 64;

/** Where boxes may have taken all of the rest, what clients may have of all descriptors: one in so many. */
const CLIENTS_SHARE = 4;

/** What isn't for clients. */
function ownDescriptors({ runner }: Takers): number {
  return (runner?.max_boxes ?? 0) * PER_BOX + OWN;
}

/** How many descriptors brokerd may need at the same time. */
export function neededDescriptors(config: Takers): number {
  return socketPaths(config).length * config.limits.connections + ownDescriptors(config);
}

/** The number of descriptors in the text of `/proc/self/limits` (proc(5)). Infinite where there is no limit, or none that can be read. */
export function descriptorLimit(text: string): number {
  const [, soft] = /^Max open files +(\S+)/mu.exec(text) ?? [];
  const limit = Number(soft);
  return Number.isSafeInteger(limit) ? limit : Number.POSITIVE_INFINITY;
}

/** The parts of brokerd that take descriptors. */
type Takers = Pick<Config, "sockets" | "limits" | "runner">;

/** What is needed, and what there is. */
export class DescriptorRoom {
  readonly #limit: number;

  /** @param limit how many descriptors the process may have */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Asks the kernel. Where the limit can't be read nothing is known to be wrong. */
  static async look(): Promise<DescriptorRoom> {
    return new DescriptorRoom(descriptorLimit(await readFile("/proc/self/limits", "utf8").catch(() => "")));
  }

  /**
   * Connections that one socket may have: those of the configuration, or as many as leave room for boxes and the log. Where there is no such
   * room, a quarter of all descriptors for the sockets together, and one each at the least.
   */
  connections(config: Takers): number {
    const sockets = socketPaths(config).length;
    const rest = Math.floor((this.#limit - ownDescriptors(config)) / sockets);
    const quarter = Math.floor(this.#limit / CLIENTS_SHARE / sockets);
    return Math.min(config.limits.connections, Math.max(1, rest, quarter));
  }

  /** One line where that is less than the configuration says. */
  notice(config: Takers): readonly string[] {
    const given = this.connections(config);
    if (given >= config.limits.connections) return [];
    const needed = neededDescriptors(config);
    return [
      `the limits in the config let clients and boxes take ${needed} descriptors, and the system gives ${this.#limit}: a socket takes ${given} connections at most; see docs/runbook.md#too-few-descriptors`,
    ];
  }
}
