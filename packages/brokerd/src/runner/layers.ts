/** Turns a spec's mounts and masks into what is laid over the empty root of a box, outermost first. */
import { lstatSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { AbsPath, holdsPath, isProperParent, quoteText } from "@boxmaker/proto";
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

export type Layering =
  | { readonly kind: "layers"; readonly layers: readonly Layer[] }
  | { readonly kind: "error"; readonly code: RunErrorCode; readonly detail: string };

/** Compares every mount with what was decided about, and lays out the box. To be called just before the start. */
export function layOut(spec: RunSpec): Layering {
  for (const { path, source } of spec.mounts) {
    if (source.kind === "unusable") return { kind: "error", code: "mount_unusable", detail: source.problem };
    const now = lookAt(path);
    if (isSameSource(source, now)) continue;
    const detail = now.kind === "unusable" ? now.problem : `${quoteText(path)} is another ${now.kind} than the one decided about`;
    return { kind: "error", code: "mount_changed", detail };
  }
  const layers = new Map<AbsPath, Layer>();
  for (const { path, writable } of spec.mounts) {
    // Of two mounts at one path, the stricter holds.
    if (layers.get(path)?.kind !== "read_only") layers.set(path, { kind: writable ? "writable" : "read_only", path });
  }
  for (const mask of spec.masked) {
    const place = findMask(mask);
    if (place === undefined || !spec.mounts.some(({ path }) => holdsPath(path, place.path))) continue;
    if (spec.mounts.some(({ path }) => holdsPath(place.path, path))) {
      return { kind: "error", code: "mount_unusable", detail: `${quoteText(place.path)} is to be hidden and mounted at once` };
    }
    layers.set(place.path, place);
  }
  for (const pin of pinsOf([...layers.values()])) if (!layers.has(pin)) layers.set(pin, { kind: "pin", path: pin });
  return { kind: "layers", layers: [...layers.values()].sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** What hides a masked path: nothing where there is nothing; where it's a link, what hides its target. */
function findMask(mask: AbsPath): Layer | undefined {
  try {
    const path = AbsPath.parse(realpathSync.native(mask));
    return { kind: lstatSync(path).isDirectory() ? "empty_directory" : "empty_file", path };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // Nothing is there, so nothing has to be hidden. Any other error could hide something from us, but not from the box.
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
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
