/**
 * What a box is told to find itself made of. Mounts go by path, and whoever may write a folder can give a path another meaning between
 * brokerd's last look and the mount: a link, for a moment, to what nobody granted, or in the place of what is to be hidden.
 */
import { lstatSync, realpathSync } from "node:fs";
import type { AbsPath, BoxRun } from "@boxmaker/proto";
import { isMask, type Layer } from "./layers.ts";
import { sourceIdentity } from "./mount-source.ts";
import type { RunSpec } from "./run-spec.ts";

/** Each mount, with what was at its path on the host. */
export type ToldMounts = NonNullable<BoxRun["body"]["mounts"]>;

/** To be called in one step with the end of laying out; undefined where the layers aren't any more what was laid out. */
export function toldMounts({ mounts }: RunSpec, layers: readonly Layer[]): ToldMounts | undefined {
  const roots = new Map(mounts.map(({ path, source }) => [path, sourceIdentity(source)]));
  const told = layers.flatMap(({ kind, path }) => {
    const source = roots.get(path) ?? identityNow(path);
    return source === undefined ? [] : [{ path, source, shown: !isMask(kind) }];
  });
  return told.length === layers.length ? told : undefined;
}

function identityNow(path: AbsPath): string | undefined {
  try {
    if (realpathSync.native(path) !== path) return undefined;
    const { dev, ino } = lstatSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    // Gone, or not to be looked at: not what was laid out.
    return undefined;
  }
}
