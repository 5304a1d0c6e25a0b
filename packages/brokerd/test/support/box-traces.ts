/** What boxes of one home leave on this machine: containers, control groups, processes, directories. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "@boxmaker/proto";
import type { Sandbox } from "../runner/sandboxes.ts";

/** As brokerd names its boxes. */
const INSTANCE_DIGITS = 12;
const CONTROL_GROUPS = "/sys/fs/cgroup";

export class BoxTraces {
  readonly #home: string;
  readonly #instance: string;
  readonly #runtime: Sandbox["name"] | "process";
  /** Containers of lives that are over. */
  readonly #containers = new Set<string>();

  constructor(home: string, runtime: Sandbox["name"] | "process") {
    this.#home = home;
    this.#instance = sha256(home).slice(0, INSTANCE_DIGITS);
    this.#runtime = runtime;
  }

  /** How many containers there have been when a life was over. */
  get seen(): number {
    return this.#containers.size;
  }

  /** To be called when a brokerd has been killed: its containers are those that the next one must have removed. */
  remember(): void {
    for (const id of this.#listContainers()) this.#containers.add(id);
  }

  /** Containers of lives that are over, and their control groups: none may be left once the next brokerd serves. */
  containersLeft(): readonly string[] {
    if (this.#containers.size === 0) return [];
    const groups = readdirSync(CONTROL_GROUPS, { recursive: true, encoding: "utf8" });
    return [
      ...this.#listContainers().filter((id) => this.#containers.has(id)),
      ...groups.filter((name) => [...this.#containers].some((id) => name.includes(id))),
    ];
  }

  /**
   * Everything else of boxes: containers, processes that were started for this home or that see something of it, what is in the runner's
   * directories.
   *
   * @param broker the process that runs now, and may
   */
  left(broker?: number): readonly string[] {
    return [...this.#listContainers(), ...this.#processes(broker), ...this.#directories()];
  }

  #listContainers(): readonly string[] {
    if (this.#runtime !== "podman") return [];
    const label = `--filter=label=boxmaker=${this.#instance}`;
    const listed = execFileSync("podman", ["ps", "--all", "--quiet", "--no-trunc", label], { encoding: "utf8" });
    return listed.split("\n").filter((id) => id !== "");
  }

  #processes(broker: number | undefined): readonly string[] {
    return readdirSync("/proc")
      .filter((name) => /^[0-9]+$/u.test(name) && name !== String(broker) && name !== String(process.pid))
      .flatMap((id) => {
        try {
          const command = readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ");
          const marks = [this.#home, this.#instance, ...this.#containers];
          const isOurs = marks.some((mark) => command.includes(mark));
          // In a box the home's folders are mounts of their own.
          return isOurs || readFileSync(`/proc/${id}/mountinfo`, "utf8").includes(`${this.#home}/`) ? [`${id} ${command}`] : [];
        } catch {
          // It has ended meanwhile.
          return [];
        }
      });
  }

  #directories(): readonly string[] {
    return ["egress", "pool"].flatMap((name) => {
      try {
        return readdirSync(join(this.#home, "run/runner", name));
      } catch {
        // The process runtime has none.
        return [];
      }
    });
  }
}
