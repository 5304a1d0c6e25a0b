/** What a call would be run with: shown to the owner, recorded, and mounted. */
import { z } from "zod";
import { AbsPath } from "../tools/abs-path.ts";
import { HostPattern } from "../tools/host.ts";

/** A host path that the box sees at the same place. */
export const Mount = z.strictObject({ path: AbsPath, writable: z.boolean() }).readonly();
export type Mount = z.infer<typeof Mount>;

export const RuntimeName = z.enum(["podman", "bubblewrap", "process", "refusing"]);
export type RuntimeName = z.infer<typeof RuntimeName>;

/**
 * Everything a box holds. `image` is `sha256:…` for podman, null otherwise. `masked` paths lie under mounts and are hidden; the usual
 * credential places under mounts (`.ssh`, `.env`, …) are hidden too, unless `exposed` names them. `host_exec`: whether what the host
 * would execute (`.git/hooks`, `.envrc`, …) may be written. `hosts` may be reached (empty: no network).
 */
export const RunPlan = z
  .strictObject({
    runtime: RuntimeName,
    image: z.string().nullable(),
    mounts: z.array(Mount).readonly(),
    masked: z.array(AbsPath).readonly(),
    exposed: z.array(AbsPath).readonly(),
    host_exec: z.boolean(),
    hosts: z.array(HostPattern).readonly(),
  })
  .readonly();
export type RunPlan = z.infer<typeof RunPlan>;
