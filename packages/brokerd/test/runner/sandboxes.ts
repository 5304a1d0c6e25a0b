/** The sandboxes of this machine, for the tests that run in each of them. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AbsPath, sha256 } from "@boxmaker/proto";
import { openRuntime } from "../../src/runner/open-runtime.ts";
import type { Opening } from "../../src/runner/opening.ts";
import { RunnerConfig } from "../../src/runner/runner-config.ts";

const WORKSPACE = join(import.meta.dirname, "..", "..", "..", "..");
const TOOLKIT = join(WORKSPACE, "packages", "toolkit", "dist", "toolkit.mjs");
const BUILD = [join(WORKSPACE, "packages", "boxmaker", "src", "main.ts"), "image", "build"];

function isThere(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

/** The tools image with this toolkit in it, by a name of the tests' own; built where there is none, which takes some 20 seconds. */
export function toolsImage(): string {
  const name = `localhost/boxmaker-test-tools:${sha256(readFileSync(TOOLKIT)).slice(0, 16)}`;
  const found = spawnSync("podman", ["image", "inspect", "--format={{.Id}}", name], { encoding: "utf8" });
  if (found.status === 0) return `sha256:${found.stdout.trim().replace("sha256:", "")}`;
  const built = spawnSync(process.execPath, BUILD, { encoding: "utf8" });
  if (built.status !== 0) throw new Error(`expected to build the tools image: ${built.stderr}`);
  const id = built.stdout.trim();
  const tagged = spawnSync("podman", ["tag", id.replace("sha256:", ""), name], { encoding: "utf8" });
  if (tagged.status !== 0) throw new Error(`expected to name the tools image: ${tagged.stderr}`);
  return id;
}

export interface Sandbox {
  readonly name: "podman" | "bubblewrap";
  /** Why its tests can't run here, or false. */
  readonly skip: string | false;
  /** Node inside a box. */
  readonly node: string;
  open(home: AbsPath, config?: object): Promise<Opening>;
  /** The keys of `[runner]` that a brokerd is given to use it. */
  toml(): string;
}

/** Rootless podman can't enforce limits on every machine; what they do is tested as root. */
const limits = process.getuid?.() === 0 ? "enforced" : "unenforced";
const noPodman = !isThere("podman", "--version") && "needs podman";
const noImageBuilder = !isThere("mmdebstrap", "--version") && "needs mmdebstrap, to build the tools image";

function podmanConfig(): Readonly<Record<string, string>> {
  return { runtime: "podman", limits, image: toolsImage() };
}

const BUBBLEWRAP_CONFIG = { runtime: "bubblewrap", limits: "unenforced" };

export const SANDBOXES: readonly Sandbox[] = [
  {
    name: "podman",
    skip: noPodman || noImageBuilder,
    node: "/usr/bin/node",
    open: (home, config = {}) => open(home, { ...podmanConfig(), ...config }),
    toml: () => tomlOf(podmanConfig()),
  },
  {
    name: "bubblewrap",
    skip: !isThere("bwrap", "--version") && "needs bubblewrap",
    node: "/opt/boxmaker/node",
    open: (home, config = {}) => open(home, { ...BUBBLEWRAP_CONFIG, ...config }),
    toml: () => tomlOf(BUBBLEWRAP_CONFIG),
  },
];

function tomlOf(config: Readonly<Record<string, string>>): string {
  return Object.entries(config)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    .join("");
}

function open(home: AbsPath, config: object): Promise<Opening> {
  return openRuntime(RunnerConfig.parse(config), { home, warn: (line) => process.stderr.write(`${line}\n`) });
}

/** How many processes of the host have this text in their command line. */
export function countProcesses(marker: string): number {
  const listed = spawnSync("ps", ["-eo", "args"], { encoding: "utf8" });
  return listed.stdout.split("\n").filter((line) => line.includes(marker)).length;
}

/** The ids of the host's processes whose command line begins with `start` and has `marker` in it. */
export function findProcesses(marker: string, start: string): readonly number[] {
  const listed = spawnSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" });
  const lines = listed.stdout.split("\n").map((line) => /^ *(?<id>[0-9]+) (?<command>.*)$/u.exec(line)?.groups);
  return lines.flatMap((line) =>
    line?.["command"]?.startsWith(start) && line["command"].includes(marker) ? [Number(line["id"])] : [],
  );
}
