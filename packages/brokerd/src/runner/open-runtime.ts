/** Opens the runtime that the configuration names, or says in one line why it can't be used here. */
import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AbsPath, quoteText, type RuntimeName, sha256, unreachable } from "@boxmaker/proto";
import { openBubblewrap } from "./open-bubblewrap.ts";
import { openPodman } from "./open-podman.ts";
import type { Opening, RunnerPlace } from "./opening.ts";
import { probe } from "./probe.ts";
import { ProcessLauncher } from "./process/process-launcher.ts";
import { refusingRuntime } from "./refusing.ts";
import type { RunnerConfig } from "./runner-config.ts";
import { SandboxRuntime } from "./sandbox-runtime.ts";

export interface OpenRuntimeOptions {
  /** brokerd's home: the runner keeps its files in `run/runner` below it, and boxes of other homes aren't its own. */
  readonly home: AbsPath;
  /** Takes one line per thing that the owner should know, while the runtime works. */
  readonly warn: (line: string) => void;
  /** The bundled toolkit; default: the configuration's, else the one beside brokerd in the source tree. */
  readonly toolkit?: AbsPath;
  /** The Node that runs the toolkit outside of images; default: the one that runs brokerd. */
  readonly node?: AbsPath;
}

const INSTANCE_DIGITS = 12;
const WORKSPACE_TOOLKIT = "../../../toolkit/dist/toolkit.mjs";

/** Opens a runtime. Null stands for a configuration without `[runner]`. */
export async function openRuntime(config: RunnerConfig | null, options: OpenRuntimeOptions): Promise<Opening> {
  const name = config?.runtime ?? "refusing";
  if (config === null || name === "refusing") return { kind: "ready", runtime: refusingRuntime, notices: [], reserved: [] };
  try {
    return await openNamed(name, config, await makePlace(config, options));
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    // The system's: the runner's folder is full or not ours. Without its files no box could be made.
    return {
      kind: "refused",
      problem: `the runner's folder below ${quoteText(options.home)}: ${quoteText(error.message)}; see docs/runbook.md#runner-folder`,
    };
  }
}

async function openNamed(name: Exclude<RuntimeName, "refusing">, config: RunnerConfig, place: RunnerPlace): Promise<Opening> {
  if (name !== "podman") {
    try {
      await access(place.toolkit);
    } catch {
      // Missing or unreadable: in both cases no box could start.
      return {
        kind: "refused",
        problem: `the toolkit ${quoteText(place.toolkit)} can't be read; see docs/runbook.md#toolkit-missing`,
      };
    }
  }
  switch (name) {
    case "podman":
      return openPodman(config, place);
    case "bubblewrap":
      return openBubblewrap(config, place);
    case "process":
      return openProcess(config, place);
    default:
      return unreachable(name);
  }
}

async function makePlace(config: RunnerConfig, { home, warn, toolkit, node }: OpenRuntimeOptions): Promise<RunnerPlace> {
  const directory = AbsPath.parse(join(home, "run", "runner"));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return {
    directory,
    instance: sha256(home).slice(0, INSTANCE_DIGITS),
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    node: node ?? AbsPath.parse(process.execPath),
    toolkit: config.toolkit ?? toolkit ?? AbsPath.parse(join(import.meta.dirname, WORKSPACE_TOOLKIT)),
    warn,
  };
}

async function openProcess(config: RunnerConfig, { node, toolkit }: RunnerPlace): Promise<Opening> {
  const launcher = new ProcessLauncher({ node, toolkit });
  const problem = await probe(launcher);
  if (problem !== undefined) {
    return { kind: "refused", problem: `the toolkit can't run: ${quoteText(problem)}; see docs/runbook.md#toolkit-missing` };
  }
  const notices = ["tools run without a sandbox: file tools only, held by checks of their own; install podman or bubblewrap"];
  return { kind: "ready", runtime: new SandboxRuntime(launcher, config, null), notices, reserved: [] };
}
