/** What a box would hold for a call: mounts, masks and hosts, never more than a grant permits now. */
import {
  type AbsPath,
  Host,
  type HostPattern,
  holdsPath,
  isProperParent,
  type Mount,
  matchesHost,
  type RunPlan,
  type RuntimeName,
  type ToolCall,
  unreachable,
} from "@boxmaker/proto";
import { credentialPlaceOf, credentialPlacesBelow } from "./credential-places.ts";
import type { Grant } from "./grant.ts";
import type { GrantIndex } from "./grant-index.ts";
import type { Match } from "./matching.ts";

/** What the boxes of this brokerd are made with. */
export interface BoxKind {
  readonly runtime: RuntimeName;
  readonly image: string | null;
}

/** The part of `path` that one of `permitted` holds: all of it, or what lies below it. */
function permittedPart(path: AbsPath, permitted: readonly AbsPath[]): readonly AbsPath[] {
  if (permitted.some((other) => holdsPath(other, path))) return [path];
  const below = permitted.filter((other) => isProperParent(path, other));
  return below.filter((one) => !below.some((other) => isProperParent(other, one)));
}

/** The hosts that both patterns stand for. */
function permittedHosts(pattern: HostPattern, permitted: readonly HostPattern[]): readonly HostPattern[] {
  if (permitted.includes(pattern)) return [pattern];
  const host = Host.safeParse(pattern);
  if (host.success) return permitted.some((other) => matchesHost(other, host.data)) ? [pattern] : [];
  return permitted.filter((other) => {
    const named = Host.safeParse(other);
    return named.success && matchesHost(pattern, named.data);
  });
}

function unique<T>(values: readonly T[]): readonly T[] {
  return [...new Set(values)];
}

function matchedPaths(match: Match): readonly AbsPath[] {
  return match.path === null ? [] : [match.path];
}

/**
 * The path, unless it lies in a credential place that nothing names which permits now: then what holds the place, in which it's hidden. A
 * grant of a key that has expired would else open the key for ever, by way of a grant of the home around it.
 */
function aroundCredentials(path: AbsPath, permitted: readonly AbsPath[]): AbsPath {
  const place = credentialPlaceOf(path);
  const holding = permitted.filter((other) => holdsPath(other, path));
  if (place === undefined || holding.length === 0 || holding.some((other) => holdsPath(place, other))) return path;
  return holding.reduce((longest, other) => (other.length > longest.length ? other : longest));
}

function mountsOf(call: ToolCall, named: Match, permitting: readonly Match[]): readonly Mount[] {
  switch (call.tool) {
    case "read_file":
    case "write_file": {
      const permitted = permitting.flatMap(matchedPaths);
      const [path] = matchedPaths(named).flatMap((matched) => permittedPart(matched, permitted));
      return path === undefined ? [] : [{ path: aroundCredentials(path, permitted), writable: call.tool === "write_file" }];
    }
    case "shell": {
      const permitted = permitting.flatMap(({ loaded }) => loaded.grant.paths);
      const partsOf = ({ loaded }: Match): readonly AbsPath[] =>
        loaded.grant.paths.flatMap((path) => permittedPart(path, permitted));
      // A command without cwd may be named for a grant that shares no path with those that permit it.
      const paths = [named, ...permitting].map(partsOf).find((parts) => parts.length > 0) ?? [];
      return unique(paths).map((path) => ({ path, writable: true }));
    }
    case "http_fetch":
      return [];
    default:
      return unreachable(call);
  }
}

function hostsOf(call: ToolCall, named: Match, permitting: readonly Match[]): readonly HostPattern[] {
  if (call.tool !== "http_fetch") return [];
  const permitted = permitting.flatMap(({ loaded }) => loaded.grant.hosts);
  return unique(named.loaded.grant.hosts.flatMap((pattern) => permittedHosts(pattern, permitted)));
}

/** The credential place that a file tool asks for, where it lies deeper than the usual ones and isn't `shown`. */
function askedCredential(call: ToolCall, mount: AbsPath, shown: readonly AbsPath[]): readonly AbsPath[] {
  const asked = call.tool === "read_file" || call.tool === "write_file" ? credentialPlaceOf(call.arguments.path) : undefined;
  if (asked === undefined || !isProperParent(mount, asked) || shown.includes(asked)) return [];
  return credentialPlacesBelow(mount).includes(asked) ? [] : [asked];
}

/** What the named grant names itself, as far as a grant that permits now does: nothing is shown by one that has expired. */
function shownPaths(named: Grant, permitting: readonly Match[]): readonly AbsPath[] {
  return named.paths.filter((path) => permitting.some(({ loaded }) => loaded.grant.paths.includes(path)));
}

/** The usual credential places below the mounts that are `shown`. */
function exposedPlaces(mounts: readonly Mount[], shown: readonly AbsPath[]): readonly AbsPath[] {
  return outermost(mounts.flatMap(({ path }) => credentialPlacesBelow(path)).filter((place) => shown.includes(place)));
}

function hasParentIn(path: AbsPath, all: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    if (all.has(path.slice(0, end))) return true;
  }
  return false;
}

/** Sorted, each once, and none that lies below another. */
export function outermost(paths: readonly AbsPath[]): readonly AbsPath[] {
  const all = new Set(paths);
  return [...all].filter((path) => !hasParentIn(path, all)).sort();
}

/**
 * Plans the box of a call. It mounts the paths of the named grant; where that grant permits nothing now (an ask that has expired still
 * restricts, and may be the one that is named), only as far as one that does permit holds them too. Paths that a
 * deny names are hidden from every box that mounts a parent of them.
 */
export function planRun(call: ToolCall, named: Match, permitting: readonly Match[], grants: GrantIndex, box: BoxKind): RunPlan {
  const mounts = mountsOf(call, named, permitting);
  const shown = shownPaths(named.loaded.grant, permitting);
  const masked = mounts.flatMap(({ path }) => [...askedCredential(call, path, shown), ...grants.deniedBelow(path)]);
  // In the order of the schema's keys, which is that of the digest.
  return Object.freeze({
    runtime: box.runtime,
    image: box.image,
    mounts: Object.freeze(mounts.map((mount) => Object.freeze(mount))),
    masked: Object.freeze(outermost(masked)),
    exposed: Object.freeze(exposedPlaces(mounts, shown)),
    host_exec: permitting.every(({ loaded }) => loaded.grant.hostExec),
    hosts: Object.freeze(hostsOf(call, named, permitting)),
  });
}

/** Everything below the mounts that the box must not see: what the plan masks, and the usual credential places that it doesn't expose. */
export function hiddenPaths({ mounts, masked, exposed }: RunPlan): readonly AbsPath[] {
  const places = mounts.flatMap(({ path }) => credentialPlacesBelow(path)).filter((place) => !exposed.includes(place));
  return outermost([...masked, ...places]);
}

/** The paths that the call's box may write: they take the session's state after it as their label. */
export function pathsWritten(call: ToolCall, plan: RunPlan): readonly AbsPath[] {
  switch (call.tool) {
    case "write_file":
      return [call.arguments.path];
    case "shell":
      return plan.mounts.filter((mount) => mount.writable).map((mount) => mount.path);
    case "read_file":
    case "http_fetch":
      return [];
    default:
      return unreachable(call);
  }
}
