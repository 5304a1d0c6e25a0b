/** Turns a spec's mounts and masks into what is laid over the empty root of a box, outermost first. */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { AbsPath, holdsPath, isProperParent, quoteText } from "@boxmaker/proto";
import { type FoundPlaces, findPlaces } from "./find-places.ts";
import { isHostExecuted } from "./host-executed.ts";
import { isSameSource, lookAt } from "./mount-source.ts";
import type { RunSpec } from "./run-spec.ts";
import type { RunErrorCode } from "./runtime.ts";

/**
 * One mount of a box, at the path that it has on the host.
 *
 * `pin`: a directory mounted onto itself. A mount point can't be renamed, so a pinned parent can't be moved away to uncover what is
 * masked, or read-only, below it.
 */
export interface Layer {
  readonly kind: "read_only" | "writable" | "pin" | "empty_directory" | "empty_file";
  readonly path: AbsPath;
}

/** Whether the layer is there to hide what is at its path. */
export function isMask(kind: Layer["kind"]): boolean {
  return kind === "empty_directory" || kind === "empty_file";
}

export type Layering =
  | { readonly kind: "layers"; readonly layers: readonly Layer[] }
  | { readonly kind: "error"; readonly code: RunErrorCode; readonly detail: string };

/** More than this aren't laid over a box: its command line has an end. */
const MAX_LAYERS = 1000;

/** Compares every mount with what was decided about, and lays out the box. To be called just before the start. */
export async function layOut(spec: RunSpec): Promise<Layering> {
  const refused = checkMounts(spec);
  if (refused !== undefined) return refused;
  const found = await placesIn(spec);
  // Looking took its time: what is mounted is compared once more.
  return checkMounts(spec) ?? layOutAround(spec, found);
}

/** Why the mounts can't be mounted, or aren't what was decided about. */
function checkMounts(spec: RunSpec): Layering | undefined {
  for (const { path, source } of spec.mounts) {
    if (source.kind === "unusable") return { kind: "error", code: "mount_unusable", detail: source.problem };
    const now = lookAt(path);
    if (isSameSource(source, now)) continue;
    const detail = now.kind === "unusable" ? now.problem : `${quoteText(path)} is another ${now.kind} than the one decided about`;
    return { kind: "error", code: "mount_changed", detail };
  }
  return undefined;
}

function layOutAround(spec: RunSpec, found: FoundPlaces): Layering {
  if (spec.request.tool === "write_file" && !spec.hostExec && isHostExecuted(spec.request.arguments.path)) {
    return { kind: "error", code: "host_executed", detail: quoteText(spec.request.arguments.path) };
  }
  const layers = new Map<AbsPath, Layer>();
  for (const { path, writable } of spec.mounts) {
    // Of two mounts at one path, the stricter holds.
    if (layers.get(path)?.kind !== "read_only") layers.set(path, { kind: writable ? "writable" : "read_only", path });
  }
  for (const layer of hostExecutedLayers(spec, found)) layers.set(layer.path, layer);
  for (const mask of [...spec.masked, ...found.hidden]) {
    const place = findLayer(mask, (stats) => (stats.isDirectory() ? "empty_directory" : "empty_file"));
    if (place === undefined || !spec.mounts.some(({ path }) => holdsPath(path, place.path))) continue;
    if (spec.mounts.some(({ path }) => holdsPath(place.path, path))) {
      // A command can make such a link. It shows nothing that isn't seen by its granted name, too.
      if (isLinkToMount(mask, place.path, spec)) continue;
      return { kind: "error", code: "mount_unusable", detail: `${quoteText(place.path)} is to be hidden and mounted at once` };
    }
    layers.set(place.path, place);
  }
  const visible = [...layers.values()].filter(({ path }) => !isHidden(path, layers));
  const pins = pinsOf(visible).filter((pin) => !layers.has(pin));
  const all = [...visible, ...[...new Set(pins)].map((path): Layer => ({ kind: "pin", path }))];
  if (all.length > MAX_LAYERS) {
    return { kind: "error", code: "mount_unusable", detail: `more than ${MAX_LAYERS} places below the mounts have to be covered` };
  }
  return { kind: "layers", layers: all.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** Whether a usual place of credentials, which no grant denies, is no such place but a link to what is mounted. */
function isLinkToMount(mask: AbsPath, leadsTo: AbsPath, { mounts, plan }: RunSpec): boolean {
  return mask !== leadsTo && !plan.masked.includes(mask) && mounts.some(({ path }) => path === leadsTo);
}

/**
 * What has to be covered wherever it stands. Only a command can get at more than the one path that was decided about: the file tools
 * open nothing else, and what they ask for is judged by its name.
 */
async function placesIn({ request, mounts, plan }: RunSpec): Promise<FoundPlaces> {
  if (request.tool !== "shell") return { hidden: [], hostExecuted: [] };
  const folders = mounts.filter(({ source }) => source.kind === "directory").map(({ path }) => path);
  const outermost = folders.filter((path) => !folders.some((other) => isProperParent(other, path)));
  const found = await Promise.all(outermost.map((path) => findPlaces(path)));
  // What the grant names itself is meant to be seen.
  const named = new Set([...plan.exposed, ...mounts.map(({ path }) => path)]);
  return {
    hidden: found.flatMap(({ hidden }) => hidden.filter((path) => !named.has(path))),
    hostExecuted: found.flatMap(({ hostExecuted }) => hostExecuted),
  };
}

/** Whether something around the path is hidden: mounted there, it would be seen again. */
function isHidden(path: AbsPath, layers: ReadonlyMap<AbsPath, Layer>): boolean {
  return [...layers.values()].some((layer) => layer.kind === "empty_directory" && isProperParent(layer.path, path));
}

/** What programs of the host execute, read-only in a box that may write around it. */
function hostExecutedLayers({ mounts, hostExec }: RunSpec, { hostExecuted }: FoundPlaces): readonly Layer[] {
  if (hostExec) return [];
  const roots = mounts.filter(({ writable }) => writable).map(({ path }) => path);
  return hostExecuted
    .flatMap((path) => findLayer(path, () => "read_only") ?? [])
    .filter(({ path }) => roots.some((root) => isProperParent(root, path)));
}

/** The layer over what is at a path: none where there is nothing; where it's a link, over its target. */
function findLayer(place: AbsPath, kindOf: (stats: Stats) => Layer["kind"]): Layer | undefined {
  try {
    const path = AbsPath.parse(realpathSync.native(place));
    return { kind: kindOf(lstatSync(path)), path };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // Nothing is there, or nothing that a link leads to: nothing has to be covered. Any other error could hide something from us, but
    // not from the box.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return undefined;
    throw error;
  }
}

/** The directories between each layer and the writable one that it lies in. */
function pinsOf(layers: readonly Layer[]): readonly AbsPath[] {
  const pins: AbsPath[] = [];
  for (const { path } of layers) {
    const around = layers
      .filter((layer) => isProperParent(layer.path, path))
      .sort((a, b) => b.path.length - a.path.length)
      .at(0);
    if (around?.kind !== "writable") continue;
    for (let parent = dirname(path); parent !== around.path; parent = dirname(parent)) pins.push(AbsPath.parse(parent));
  }
  return pins;
}
