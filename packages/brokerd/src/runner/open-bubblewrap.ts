/** Opens the bubblewrap runtime: finds the programs, checks that limits hold, and starts one box to see that it works. */
import { lstat, mkdir, readlink } from "node:fs/promises";
import { AbsPath, quoteText } from "@boxmaker/proto";
import { DEVICES, markOf, type SystemDirectory } from "./bubblewrap/bubblewrap-arguments.ts";
import { BubblewrapLauncher } from "./bubblewrap/bubblewrap-launcher.ts";
import { findCertificates, findCurlProblem, findResolver } from "./bubblewrap/fetch-needs.ts";
import { seccompProgram } from "./bubblewrap/seccomp-program.ts";
import { sweepProcesses } from "./bubblewrap/sweep-processes.ts";
import { sweepProxyDirectories } from "./egress/egress-proxies.ts";
import { runCommand } from "./host-command.ts";
import type { Opening, RunnerPlace } from "./opening.ts";
import { findParentBinding } from "./parent-binding.ts";
import { placeFile } from "./place-file.ts";
import { BoxPool, sweepPoolDirectory } from "./pool/box-pool.ts";
import { probe } from "./probe.ts";
import { memoryBytes, type RunnerConfig } from "./runner-config.ts";
import { openProxies, SandboxRuntime } from "./sandbox-runtime.ts";

const DEADLINE_MS = 10_000;
/** Limits that need no cgroup: no core dumps, few descriptors, no file beyond 100 MiB. */
const PRLIMIT = ["prlimit", "--core=0:0", "--nofile=256:256", "--fsize=104857600:104857600", "--"] as const;
const SYSTEM_PATHS = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"] as const;

/** A box has what is in the host's /usr, and looks for programs there alone. */
const CURL = "/usr/bin/curl";

const HOST_DEVICES = AbsPath.parse("/dev");

function refused(problem: string): Opening {
  return { kind: "refused", problem };
}

/** Checks bubblewrap and its limits. */
export async function openBubblewrap(config: RunnerConfig, place: RunnerPlace): Promise<Opening> {
  const version = await runCommand(config.bubblewrap, ["--version"], DEADLINE_MS);
  if (version.kind === "failed" || version.status !== 0) {
    const problem = version.kind === "failed" ? version.problem : version.stderr.trim();
    return refused(`bubblewrap ${quoteText(config.bubblewrap)}: ${quoteText(problem)}; see docs/runbook.md#bubblewrap-unusable`);
  }
  const filter = seccompProgram(process.arch, { unixSockets: false });
  const egressFilter = seccompProgram(process.arch, { unixSockets: true });
  if (filter === undefined || egressFilter === undefined)
    return refused(`no system call filter for ${process.arch}; see docs/runbook.md#system-call-filter`);
  const scope = scopeCommand(config, place.uid);
  const limitsProblem = await findLimitsProblem(config, scope);
  if (limitsProblem !== undefined && config.limits === "enforced") {
    return refused(`limits can't be enforced: ${quoteText(limitsProblem)}; see docs/runbook.md#limits-not-enforced`);
  }
  const emptyFile = await placeFile(place.directory, "empty", "", 0o444);
  const limiting = limitsProblem === undefined ? [...scope, ...PRLIMIT] : PRLIMIT;
  const devices = place.uid === 0 ? await makeDevicePlace(place) : HOST_DEVICES;
  const left = await sweepProcesses(markOf(place.instance));
  const curlProblem = await findCurlProblem(CURL);
  const launcher = new BubblewrapLauncher({
    command: [...(await findParentBinding()), ...limiting, ...(place.uid === 0 ? readOnlyDevices(devices) : []), config.bubblewrap],
    boxes: {
      instance: place.instance,
      node: place.node,
      toolkit: place.toolkit,
      system: await findSystem(),
      emptyFile,
      devices,
      certificates: findCertificates(),
    },
    filter,
    egressFilter,
    findResolver,
    curlProblem,
  });
  const problem = await probe(launcher);
  if (problem !== undefined) {
    return refused(`bubblewrap can't run a box: ${quoteText(problem)}; see docs/runbook.md#bubblewrap-unusable`);
  }
  const proxies = openProxies(launcher, config, await sweepProxyDirectories(place.directory));
  const pool = new BoxPool({ launcher, config, directory: await sweepPoolDirectory(place.directory) });
  return {
    kind: "ready",
    runtime: new SandboxRuntime(launcher, config, proxies, pool),
    notices: noticesOf(limitsProblem, curlProblem, left),
    reserved: [],
  };
}

function noticesOf(limitsProblem: string | undefined, curlProblem: string | null, left: number): readonly string[] {
  const notices: string[] = [];
  if (limitsProblem !== undefined) notices.push(`boxes have no memory and process limits: ${quoteText(limitsProblem)}`);
  if (curlProblem !== null) notices.push(`http_fetch will fail: ${quoteText(curlProblem)}; see docs/runbook.md#curl-missing`);
  if (left > 0) notices.push(`ended ${left} processes of boxes that an earlier brokerd left`);
  return notices;
}

async function makeDevicePlace({ directory }: RunnerPlace): Promise<AbsPath> {
  const devices = AbsPath.parse(`${directory}/devices`);
  await mkdir(devices, { recursive: true, mode: 0o700 });
  return devices;
}

/**
 * Where brokerd runs as root, the box has the id that owns the host's device nodes, and could change their modes. So it gets them
 * from read-only mounts, made in a mount namespace of its own; writing to the devices themselves still works.
 */
function readOnlyDevices(devices: AbsPath): readonly string[] {
  const mounts = DEVICES.map((name) => `: > "$d/${name}" && mount -o bind,ro /dev/${name} "$d/${name}"`);
  const script = ["d=$1 && shift", 'mount -t tmpfs tmpfs "$d"', ...mounts, 'exec "$@"'].join(" && ");
  return ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", script, "sh", devices];
}

/** A transient scope of systemd around each box: the only way to a cgroup of one's own. It becomes the command it is given. */
function scopeCommand(config: RunnerConfig, uid: number): readonly [string, ...string[]] {
  const manager = uid === 0 ? "--system" : "--user";
  const properties = [`MemoryMax=${memoryBytes(config)}`, "MemorySwapMax=0", `TasksMax=${config.pids}`];
  return [
    "systemd-run",
    manager,
    "--scope",
    "--quiet",
    "--collect",
    ...properties.map((property) => `--property=${property}`),
    "--",
  ];
}

/** Makes a scope and reads its limits back from the kernel: systemd accepts limits that it can't set. */
async function findLimitsProblem(
  config: RunnerConfig,
  [program, ...args]: readonly [string, ...string[]],
): Promise<string | undefined> {
  const script = 'group=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); cat "$group/memory.max" "$group/pids.max"';
  const result = await runCommand(program, [...args, "/bin/sh", "-c", script], DEADLINE_MS);
  if (result.kind === "failed") return `systemd-run: ${result.problem}`;
  if (result.status !== 0) return `systemd-run: ${result.stderr.trim()}`;
  const expected = `${memoryBytes(config)}\n${config.pids}\n`;
  return result.stdout === expected ? undefined : "systemd does not set the memory and process limits of a scope";
}

async function findSystem(): Promise<readonly SystemDirectory[]> {
  const found: SystemDirectory[] = [];
  for (const text of SYSTEM_PATHS) {
    const path = AbsPath.parse(text);
    try {
      const stats = await lstat(path);
      found.push(stats.isSymbolicLink() ? { kind: "link", path, target: await readlink(path) } : { kind: "directory", path });
    } catch {
      // Not every system has every one of them, and a box that misses one it needs is found by the probe.
    }
  }
  return found;
}
