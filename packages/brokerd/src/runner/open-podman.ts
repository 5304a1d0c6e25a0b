/** Opens the podman runtime: everything that could refuse a call later is asked of podman now. */
import { readFile } from "node:fs/promises";
import { type Parsed, quoteText } from "@boxmaker/proto";
import { MACHINES } from "./bubblewrap/system-calls.ts";
import { sweepProxyDirectories } from "./egress/egress-proxies.ts";
import type { Opening, RunnerPlace } from "./opening.ts";
import { findParentBinding } from "./parent-binding.ts";
import { placeFile } from "./place-file.ts";
import type { PodmanBoxes } from "./podman/podman-arguments.ts";
import { askHost, askImage, findNetworkProblem, type PodmanHost } from "./podman/podman-host.ts";
import { PodmanLauncher } from "./podman/podman-launcher.ts";
import { hardenProfile } from "./podman/seccomp-profile.ts";
import { BoxPool, sweepPoolDirectory } from "./pool/box-pool.ts";
import { probe } from "./probe.ts";
import type { RunnerConfig } from "./runner-config.ts";
import { openProxies, SandboxRuntime } from "./sandbox-runtime.ts";

/** Tried where podman's own choice can't run a box: on a hybrid cgroup machine crun can't, and runc can. */
const SECOND_RUNTIME = "runc";

type Setup =
  | { readonly kind: "ok"; readonly boxes: Omit<PodmanBoxes, "ociRuntime"> }
  | { readonly kind: "refused"; readonly problem: string };

function refused(problem: string): { readonly kind: "refused"; readonly problem: string } {
  return { kind: "refused", problem };
}

/** Checks podman, its limits, the image and the filter, starts one box to see that it works, and removes what a crash left. */
export async function openPodman(config: RunnerConfig, place: RunnerPlace): Promise<Opening> {
  const host = await askHost(config.podman);
  if (host.kind === "failed") {
    return refused(`podman ${quoteText(config.podman)}: ${quoteText(host.problem)}; see docs/runbook.md#podman-unusable`);
  }
  const setup = await prepare(config, host.value, place);
  if (setup.kind === "refused") return setup;
  const notices = host.value.limitsProblem === null ? [] : [`boxes have no memory and process limits: ${host.value.limitsProblem}`];
  const binding = await findParentBinding();
  const candidates = config.oci_runtime === null ? [null, SECOND_RUNTIME] : [config.oci_runtime];
  const problems: string[] = [];
  for (const ociRuntime of candidates) {
    const program = ociRuntime ?? host.value.ociRuntime;
    const launcher = new PodmanLauncher(config.podman, { ...setup.boxes, ociRuntime }, binding, program, place.warn);
    const left = problems.length === 0 ? await launcher.sweep() : 0;
    if (left === undefined) return refused("leftover containers could not be removed; see docs/runbook.md#leftover-containers");
    if (left > 0) notices.push(`removed ${left} containers that an earlier brokerd left`);
    const problem = await probe(launcher);
    if (problem === undefined) {
      if (problems.length > 0) notices.push(`boxes are run by ${SECOND_RUNTIME}, because ${host.value.ociRuntime} can't here`);
      // After the containers that may have them are gone.
      const proxies = openProxies(launcher, config, await sweepProxyDirectories(place.directory));
      const pool = new BoxPool({ launcher, config, directory: await sweepPoolDirectory(place.directory) });
      const runtime = new SandboxRuntime(launcher, config, proxies, pool);
      return { kind: "ready", runtime, notices, reserved: host.value.storage };
    }
    problems.push(`${ociRuntime ?? host.value.ociRuntime}: ${problem}`);
  }
  return refused(`podman can't run a box: ${quoteText(problems.join("; "))}; see docs/runbook.md#podman-unusable`);
}

async function prepare(config: RunnerConfig, host: PodmanHost, place: RunnerPlace): Promise<Setup> {
  if (host.limitsProblem !== null && config.limits === "enforced") {
    return refused(`limits can't be enforced: ${host.limitsProblem}; see docs/runbook.md#limits-not-enforced`);
  }
  if (config.image === null) return refused("runner.image is not set; see docs/runbook.md#tools-image-missing");
  const image = await askImage(config.podman, config.image);
  if (image.kind === "failed") {
    return refused(`the image ${quoteText(config.image)}: ${quoteText(image.problem)}; see docs/runbook.md#tools-image-missing`);
  }
  if (!MACHINES.has(process.arch)) {
    return refused(`no system call filter for ${process.arch}; see docs/runbook.md#system-call-filter`);
  }
  const network = await findNetworkProblem(config.podman, config.egress_network);
  if (network !== undefined) {
    const named = quoteText(config.egress_network ?? "");
    return refused(`runner.egress_network ${named}: ${quoteText(network)}; see docs/runbook.md#egress-network`);
  }
  const profile = await readProfile(host.seccompProfile, false);
  const forEgress = await readProfile(host.seccompProfile, true);
  if (profile.kind === "invalid" || forEgress.kind === "invalid") {
    const problem = quoteText(profile.kind === "invalid" ? profile.problem : "changed while it was read");
    return refused(`the system call filter ${quoteText(host.seccompProfile)}: ${problem}; see docs/runbook.md#system-call-filter`);
  }
  const seccompProfile = await placeFile(place.directory, "seccomp.json", profile.value, 0o600);
  const egressProfile = await placeFile(place.directory, "seccomp-egress.json", forEgress.value, 0o600);
  const emptyFile = await placeFile(place.directory, "empty", "", 0o444);
  const { uid, gid } = place;
  return {
    kind: "ok",
    boxes: {
      instance: place.instance,
      image: image.value,
      user: { kind: host.rootless ? "rootless" : "root", uid, gid },
      limits: host.limitsProblem === null ? { memory: config.memory, pids: config.pids } : null,
      seccompProfile,
      egressProfile,
      egressNetwork: config.egress_network,
      emptyFile,
    },
  };
}

/** Makes our filter out of podman's. */
async function readProfile(from: string, unixSockets: boolean): Promise<Parsed<string>> {
  try {
    return hardenProfile(await readFile(from), { unixSockets });
  } catch {
    // Without podman's profile there is nothing to build on, and a box without a filter isn't started.
    return { kind: "invalid", problem: "can't be read" };
  }
}
