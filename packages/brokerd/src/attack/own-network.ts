/** A network namespace with addresses and servers of its own, in which fetches are attacked. Nothing that is sent there leaves the machine. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "@boxmaker/edge/log";
import { quoteText, readForeignJson, unreachable } from "@boxmaker/proto";
import { type Launch, startChild } from "../runner/box-child.ts";
import { hostEnvironment, runCommand } from "../runner/host-command.ts";
import type { RunnerConfig } from "../runner/runner-config.ts";
import type { FiringRange } from "./firing-range.ts";
import { isAlive, waitUntil } from "./host-processes.ts";
import { PRIVATE, PUBLIC, Sighting } from "./socket/network-places.ts";

/** Or the one phrase that says why there is none here. */
export type NetworkOpening =
  | { readonly kind: "open"; readonly network: OwnNetwork }
  | { readonly kind: "missing"; readonly why: string };

/** Its name says which process made it. */
const PREFIX = "boxmaker-attack-";
const NAMED = /^boxmaker-attack-(?<process>[1-9][0-9]*)-/u;
/** Where name servers for a namespace are found by `ip netns exec`, and by podman for its containers. */
const SETTINGS = "/etc/netns";
/** Where iproute2 keeps them. */
const NAMESPACES = "/run/netns";
const COMMAND_MS = 10_000;
const READY_MS = 10_000;
const SEEN_MS = 5_000;
const WORKER = fileURLToPath(new URL(`./socket/network-worker${extname(import.meta.url)}`, import.meta.url));

async function ip(...args: readonly string[]): Promise<string | undefined> {
  const result = await runCommand("ip", args, COMMAND_MS);
  if (result.kind === "failed") return `ip, of iproute2: ${result.problem}`;
  return result.status === 0 ? undefined : `ip ${args.join(" ")}: ${quoteText(result.stderr.trim())}`;
}

async function remove(name: string): Promise<void> {
  await ip("netns", "delete", name);
  rmSync(join(SETTINGS, name), { recursive: true, force: true });
  try {
    rmdirSync(SETTINGS);
  } catch {
    // Others have a namespace, too.
  }
}

/** Removes those that were left by attacks which couldn't end by themselves. */
async function sweep(): Promise<void> {
  // After a restart of the machine its settings are all that is left of one.
  const names = [NAMESPACES, SETTINGS].flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
  for (const name of new Set(names)) {
    const maker = NAMED.exec(name)?.groups?.["process"];
    if (maker !== undefined && !isAlive(Number(maker))) await remove(name);
  }
}

export class OwnNetwork {
  readonly #name: string;
  readonly #clock: Clock;
  /** Whether it has IPv6. */
  readonly hasIPv6: boolean;
  #sightings: Sighting[] = [];
  #unread = "";

  private constructor(name: string, clock: Clock, hasIPv6: boolean) {
    this.#name = name;
    this.#clock = clock;
    this.hasIPv6 = hasIPv6;
  }

  /** Makes it, with servers that listen. It ends with the range. */
  static async open(range: FiringRange, clock: Clock): Promise<NetworkOpening> {
    if (process.getuid?.() !== 0)
      return { kind: "missing", why: "it needs root, for a network namespace with addresses of its own" };
    await sweep();
    const name = `${PREFIX}${process.pid}-${randomBytes(4).toString("hex")}`;
    const problem = await ip("netns", "add", name);
    if (problem !== undefined) return { kind: "missing", why: `no network namespace can be made: ${problem}` };
    range.defer(() => remove(name));
    const added = await OwnNetwork.#furnish(name);
    if (added.problem !== undefined) return { kind: "missing", why: added.problem };
    const network = new OwnNetwork(name, clock, added.hasIPv6);
    const started = await network.#start(range);
    return started === undefined ? { kind: "open", network } : { kind: "missing", why: `its servers: ${started}` };
  }

  static async #furnish(name: string): Promise<{ readonly problem?: string; readonly hasIPv6: boolean }> {
    const up = await ip("-n", name, "link", "set", "lo", "up");
    if (up !== undefined) return { problem: up, hasIPv6: false };
    let hasIPv6 = true;
    for (const address of [...Object.values(PUBLIC), ...Object.values(PRIVATE)]) {
      const isIPv6 = address.includes(":");
      const problem = await ip("-n", name, "address", "add", `${address}/${isIPv6 ? 128 : 32}`, "dev", "lo");
      if (problem !== undefined && !isIPv6) return { problem, hasIPv6 };
      if (problem !== undefined) hasIPv6 = false;
    }
    try {
      mkdirSync(join(SETTINGS, name), { recursive: true });
      writeFileSync(join(SETTINGS, name, "resolv.conf"), `nameserver ${PUBLIC.names}\noptions timeout:2 attempts:2\n`);
    } catch (error) {
      // The system's: without it nothing would ask the network's own name server.
      return { problem: `${SETTINGS}: ${error instanceof Error ? error.message : "unwritable"}`, hasIPv6 };
    }
    return { hasIPv6 };
  }

  async #start(range: FiringRange): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const launch: Launch = {
      program: "ip",
      args: ["netns", "exec", this.#name, process.execPath, WORKER],
      environment: hostEnvironment(),
      filter: null,
      reportsChild: false,
      stop: async (killChild) => killChild(),
    };
    const starting = startChild(launch, null, {
      onOutput: (chunk) => this.#read(chunk, () => resolve(undefined)),
      onError: resolve,
      onClose: () => resolve("they ended"),
    });
    if (starting.kind === "unstarted") return starting.problem;
    const { box } = starting;
    range.defer(() => {
      box.stop();
      return box.ended;
    });
    box.after(READY_MS, () => resolve(`not ready after ${READY_MS} ms`));
    const problem = await promise;
    return problem === undefined ? undefined : `${problem}: ${quoteText(box.stderr)}`;
  }

  #read(chunk: Buffer, onReady: () => void): void {
    const lines = `${this.#unread}${chunk.toString("utf8")}`.split("\n");
    this.#unread = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "ready") onReady();
      const reading = readForeignJson(line);
      const sighting = reading.kind === "value" ? Sighting.safeParse(reading.value) : undefined;
      if (sighting?.success === true) this.#sightings.push(sighting.data);
    }
  }

  /** The configuration of a runtime whose machine has this network and no other; undefined for one without fetches. */
  configure(runner: RunnerConfig, range: FiringRange): RunnerConfig | undefined {
    switch (runner.runtime) {
      case "podman":
        return { ...runner, egress_network: `ns:${NAMESPACES}/${this.#name}` };
      case "bubblewrap": {
        const program = range.at("bubblewrap-within");
        const within = `exec ip netns exec ${this.#name} '${runner.bubblewrap.replaceAll("'", "'\\''")}' "$@"`;
        writeFileSync(program, `#!/bin/sh\n${within}\n`, { mode: 0o755 });
        return { ...runner, bubblewrap: program };
      }
      case "process":
      case "refusing":
        return undefined;
      default:
        return unreachable(runner.runtime);
    }
  }

  /** Forgets what was seen so far. */
  forget(): void {
    this.#sightings = [];
  }

  /** All that was seen, in its order, up to a request of this path; undefined where none comes in time. */
  async seenUntil(path: string): Promise<readonly Sighting[] | undefined> {
    const isSeen = (): boolean => this.#sightings.some((sighting) => sighting.kind === "request" && sighting.path === path);
    return (await waitUntil(this.#clock, SEEN_MS, isSeen)) ? [...this.#sightings] : undefined;
  }

  /** All that was seen so far. */
  get seen(): readonly Sighting[] {
    return [...this.#sightings];
  }
}
