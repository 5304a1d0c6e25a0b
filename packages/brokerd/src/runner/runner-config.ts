/** The `[runner]` table of brokerd's configuration: which sandbox, and its limits. */
import { AbsPath, RuntimeName, SafeInteger, type ToolName } from "@boxmaker/proto";
import { z } from "zod";

const MAX_OUTPUT_CAP = 1024 * 1024;
const MAX_LIMIT_MS = 60 * 60 * 1000;

const Program = z.string().regex(/^[^\p{C}-][^\p{C}]*$/u, "expected a program's name or absolute path");
/** What podman takes as a network, but for none and another container's. */
const Network = z
  .string()
  .regex(
    /^(?!none$|container:)[A-Za-z0-9][A-Za-z0-9_.:/=,-]*$/u,
    "expected a network of podman's that isn't none or a container's",
  );
const LimitMs = SafeInteger.min(1).max(MAX_LIMIT_MS);

/** The keys and their defaults. Memory is in bytes, or with `k`, `m` or `g` in their powers of 1024. */
export const RunnerConfig = z
  .strictObject({
    runtime: RuntimeName,
    limits: z.enum(["enforced", "unenforced"]).default("enforced"),
    podman: Program.default("podman"),
    oci_runtime: Program.nullable().default(null),
    image: z
      .string()
      .regex(/^(?:[a-z0-9][a-z0-9._/:-]*@)?sha256:[0-9a-f]{64}$/u, "expected an image by its digest: sha256:… or name@sha256:…")
      .nullable()
      .default(null),
    egress_network: Network.nullable().default(null),
    egress_idle_ms: LimitMs.default(60_000),
    bubblewrap: Program.default("bwrap"),
    toolkit: AbsPath.nullable().default(null),
    output_cap: SafeInteger.min(1024).max(MAX_OUTPUT_CAP).default(MAX_OUTPUT_CAP),
    memory: z
      .string()
      .regex(/^[1-9][0-9]{0,11}[kmg]?$/u, "expected bytes, or a number with k, m or g")
      .default("256m"),
    pids: SafeInteger.min(16).max(4096).default(64),
    max_boxes: SafeInteger.min(1).max(1000).default(32),
    pool: SafeInteger.min(0).max(100).default(2),
    pool_idle_ms: LimitMs.default(60_000),
    read_file_ms: LimitMs.default(10_000),
    write_file_ms: LimitMs.default(10_000),
    shell_ms: LimitMs.default(30_000),
    http_fetch_ms: LimitMs.default(30_000),
  })
  .readonly();
export type RunnerConfig = z.infer<typeof RunnerConfig>;

/** How long a tool may take, in milliseconds. */
export function timeLimitMs(config: RunnerConfig, tool: ToolName): number {
  return config[`${tool}_ms`];
}

const FACTORS: Readonly<Record<string, number>> = { k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** The memory limit in bytes. */
export function memoryBytes({ memory }: RunnerConfig): number {
  const factor = FACTORS[memory.slice(-1)];
  return factor === undefined ? Number(memory) : Number(memory.slice(0, -1)) * factor;
}
