/** What podman says about itself and about the image: asked once, at the start. */
import { access } from "node:fs/promises";
import { AbsPath, findActingAnnotation, readForeignJson } from "@boxmaker/proto";
import { z } from "zod";
import { type CommandResult, runCommand } from "../host-command.ts";

const DEADLINE_MS = 30_000;

const Host = z.object({
  rootless: z.enum(["true", "false"]),
  cgroups: z.string(),
  manager: z.string(),
  controllers: z.string(),
  runtime: z.string(),
  seccompProfile: z.string(),
  storage: z.array(AbsPath).length(3),
});

/** What podman's boxes can be held to here. */
export interface PodmanHost {
  readonly rootless: boolean;
  /** Why memory and process limits would not hold, or null where they do. */
  readonly limitsProblem: string | null;
  readonly ociRuntime: string;
  readonly seccompProfile: string;
  /** Where it keeps images and the boxes' own files. */
  readonly storage: readonly AbsPath[];
}

export type Asked<T> = { readonly kind: "ok"; readonly value: T } | { readonly kind: "failed"; readonly problem: string };

const FORMAT = [
  "{{.Host.Security.Rootless}}",
  "{{.Host.CgroupsVersion}}",
  "{{.Host.CgroupManager}}",
  '{{join .Host.CgroupControllers ","}}',
  "{{.Host.OCIRuntime.Name}}",
  "{{.Host.Security.SECCOMPProfilePath}}",
  "{{.Store.GraphRoot}}",
  "{{.Store.RunRoot}}",
  "{{.Store.VolumePath}}",
].join("|");

function problemOf(result: CommandResult): string {
  return result.kind === "failed" ? result.problem : result.stderr.trim() || `exit status ${result.status}`;
}

/** Asks `podman info`. */
export async function askHost(podman: string): Promise<Asked<PodmanHost>> {
  const result = await runCommand(podman, ["info", `--format=${FORMAT}`], DEADLINE_MS);
  if (result.kind === "failed" || result.status !== 0) return { kind: "failed", problem: problemOf(result) };
  const [rootless, cgroups, manager, controllers, runtime, seccompProfile, ...storage] = result.stdout.trim().split("|");
  const host = Host.safeParse({ rootless, cgroups, manager, controllers, runtime, seccompProfile, storage });
  if (!host.success) return { kind: "failed", problem: "its answer to podman info is of another form than expected" };
  return {
    kind: "ok",
    value: {
      rootless: host.data.rootless === "true",
      limitsProblem: findLimitsProblem(host.data),
      ociRuntime: host.data.runtime,
      seccompProfile: host.data.seccompProfile,
      storage: host.data.storage,
    },
  };
}

/** Podman itself says nothing, or one line on standard error, and then runs boxes without the limits that it was given. */
function findLimitsProblem({ rootless, cgroups, manager, controllers }: z.infer<typeof Host>): string | null {
  const delegated = new Set(controllers.split(","));
  const missing = ["memory", "pids"].filter((name) => !delegated.has(name));
  if (missing.length > 0) return `the ${missing.join(" and ")} controller is not available`;
  if (rootless === "false") return null;
  if (cgroups !== "v2") return `rootless podman can't limit memory and processes on cgroup ${cgroups}`;
  return manager === "systemd" ? null : `rootless podman needs the systemd cgroup manager, and this is ${manager}`;
}

const Annotations = z.record(z.string(), z.string()).nullable();

/**
 * The image's id, `sha256:…`, if it is there. Podman hands an image's annotations on to the OCI runtime, and has no flag against it: an
 * image with one that may mean something to it fails.
 */
export async function askImage(podman: string, reference: string): Promise<Asked<string>> {
  const result = await runCommand(podman, ["image", "inspect", "--format={{.Id}} {{json .Annotations}}", reference], DEADLINE_MS);
  if (result.kind === "failed" || result.status !== 0) return { kind: "failed", problem: problemOf(result) };
  const [, id, text = ""] = /^(?:sha256:)?([0-9a-f]{64}) (.*)$/u.exec(result.stdout.trim()) ?? [];
  const reading = readForeignJson(text);
  const annotations = Annotations.safeParse(reading.kind === "value" ? reading.value : undefined);
  if (id === undefined || !annotations.success) return { kind: "failed", problem: "podman's answer about it is of no known form" };
  const acting = findActingAnnotation(annotations.data ?? {});
  if (acting !== undefined) return { kind: "failed", problem: `its annotation ${acting} could tell the OCI runtime what to do` };
  return { kind: "ok", value: `sha256:${id}` };
}

/** Networks that podman makes by itself, and one that is a place of the host. */
const OWN_NETWORK = /^(?:bridge|host|pasta|private|slirp4netns)(?:$|:)/u;
const NAMESPACE = /^ns:(?<path>.*)$/u;

/** Why proxies can't have this network, or nothing where they can. Null is podman's own choice. */
export async function findNetworkProblem(podman: string, network: string | null): Promise<string | undefined> {
  if (network === null || OWN_NETWORK.test(network)) return undefined;
  const place = NAMESPACE.exec(network)?.groups?.["path"];
  if (place !== undefined) {
    try {
      await access(place);
      return undefined;
    } catch {
      // Whatever the reason is, podman couldn't join it either.
      return "there is no such network namespace";
    }
  }
  const names = network.replace(/:.*$/u, "").split(",");
  for (const name of names) {
    const result = await runCommand(podman, ["network", "exists", name], DEADLINE_MS);
    if (result.kind === "failed") return result.problem;
    if (result.status !== 0) return "podman has no such network";
  }
  return undefined;
}
