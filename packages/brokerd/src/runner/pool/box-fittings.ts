/**
 * What a box that was started ahead is made of, looked at twice: on the host before its start and at its use, and in the box at its
 * use. A box serves a call only where nothing of it has changed meanwhile.
 */
import { lstatSync, realpathSync } from "node:fs";
import type { AbsPath } from "@boxmaker/proto";
import { type BoxContents, EGRESS_DIRECTORY } from "../box-contents.ts";
import { isMask, type Layer } from "../layers.ts";
import { hostMountsBelow, mountTable } from "./mount-table.ts";

/** One mount of a box: what is on the host at `source` is covered with, or seen at, `target`. */
interface Fitting {
  readonly kind: Layer["kind"];
  readonly source: AbsPath;
  readonly target: AbsPath;
}

function fittingsOf({ layers, egress }: BoxContents): readonly Fitting[] {
  const fittings = layers.map(({ kind, path }): Fitting => ({ kind, source: path, target: path }));
  if (egress !== null) fittings.push({ kind: "read_only", source: egress, target: EGRESS_DIRECTORY });
  return fittings;
}

/**
 * What is at the places that the box is made of, as one text, or undefined where one of them isn't what it was laid out as. The time at
 * which a file was made is part of it: file systems give the number of a removed file to the next one.
 */
export function lookAtHost(contents: BoxContents): string | undefined {
  try {
    const sources = fittingsOf(contents).map(({ source }) => source);
    const identities = sources.map((source) => {
      if (realpathSync.native(source) !== source) throw new Error(`${source} leads through a symbolic link`);
      const { dev, ino, mode, birthtimeNs } = lstatSync(source, { bigint: true });
      return [source, dev, ino, mode >> FILE_TYPE_SHIFT, birthtimeNs].join(" ");
    });
    return [...identities, hostMountsBelow(sources)].join("\n");
  } catch {
    // Gone, or not to be looked at: whatever it is now, it isn't what the box was made of.
    return undefined;
  }
}

const FILE_TYPE_SHIFT = 12n;

/**
 * Whether the box whose first process this is has each of its mounts in place, and sees at each what it is to see. False as well where
 * that can't be found out.
 */
export function hasItsFittings(process: number, contents: BoxContents): boolean {
  try {
    const table = new Map(mountTable(process).map((mount) => [mount.at, mount]));
    return fittingsOf(contents).every(({ kind, source, target }) => {
      const mount = table.get(target);
      if (mount === undefined || (isReadOnly(kind) && !mount.readOnly)) return false;
      const outside = lstatSync(source, { bigint: true });
      const inside = lstatSync(`/proc/${process}/root${target}`, { bigint: true });
      const isSame = inside.dev === outside.dev && inside.ino === outside.ino;
      return isMask(kind) ? !isSame : isSame;
    });
  } catch {
    // The box is gone, or its view is closed to us: then nobody can say what it holds.
    return false;
  }
}

function isReadOnly(kind: Layer["kind"]): boolean {
  return kind === "read_only" || isMask(kind);
}
