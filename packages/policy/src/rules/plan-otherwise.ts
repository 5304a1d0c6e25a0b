/** The box of a call that no grant permits and `tools.toml` does: exactly the place that the call names, as far as a grant could name it. */
import { AbsPath, HostPattern, hostOfUrl, type Mount, type RunPlan, type ToolCall, unreachable } from "@boxmaker/proto";
import type { GrantIndex } from "./grant-index.ts";
import type { Otherwise } from "./grant-set.ts";
import { reservedPlaceAt, whyUnmountable } from "./mountable-path.ts";
import { type BoxKind, outermost } from "./plan-run.ts";

/** The place that the call needs in its box; null where it needs none, `undefined` where there is no such place to mount. */
function placeOf(call: ToolCall): AbsPath | null | undefined {
  switch (call.tool) {
    case "read_file":
      return call.arguments.path;
    case "write_file":
      return AbsPath.safeParse(call.arguments.path.slice(0, call.arguments.path.lastIndexOf("/"))).data;
    case "shell":
      return call.arguments.cwd ?? null;
    case "http_fetch":
      return null;
    default:
      return unreachable(call);
  }
}

/**
 * A box may have put a link into what it can write, so nothing strictly below such a folder is mounted by its path: the folder is, in
 * which the tools follow no links. A grant would have to name that folder, too.
 */
function mountsAt(place: AbsPath, call: ToolCall, grants: GrantIndex): readonly Mount[] {
  return [Object.freeze({ path: grants.writableAbove(place) ?? place, writable: call.tool !== "read_file" })];
}

/** Plans the box; `undefined` where no grant could name the place, so that nothing but a grant's absence can be said of the call. */
export function planOtherwise(call: ToolCall, otherwise: Otherwise, grants: GrantIndex, box: BoxKind): RunPlan | undefined {
  const place = placeOf(call);
  if (place === undefined) return undefined;
  const mounts = place === null ? [] : mountsAt(place, call, grants);
  for (const { path } of mounts) {
    if (whyUnmountable(path) !== undefined || reservedPlaceAt(path, otherwise.reserved) !== undefined) return undefined;
  }
  // In the order of the schema's keys, which is that of the digest.
  return Object.freeze({
    runtime: box.runtime,
    image: box.image,
    mounts: Object.freeze(mounts),
    masked: Object.freeze(outermost(mounts.flatMap(({ path }) => grants.deniedBelow(path)))),
    exposed: Object.freeze([]),
    host_exec: false,
    hosts: Object.freeze(call.tool === "http_fetch" ? [HostPattern.parse(hostOfUrl(call.arguments.url))] : []),
  });
}
