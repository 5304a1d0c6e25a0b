/** Which paths a grant may name at all: the same for what `otherwise` lets through, which no grant names. */
import { type AbsPath, quoteText } from "@boxmaker/proto";
import { containerPathAt, overlaps } from "./container-paths.ts";

/** Why no box can have this path, or `undefined` where one can. */
export function whyUnmountable(path: AbsPath): string | undefined {
  // They separate the parts of a mount on a runner's command line.
  if (/[:,]/u.test(path)) return `${quoteText(path)} can't be mounted: it contains ':' or ','`;
  const own = containerPathAt(path);
  return own === undefined ? undefined : `${quoteText(path)} can't be mounted: a box has its own ${quoteText(own)}`;
}

/** The one of the box's own places that the path is, holds or lies in, if any. */
export function reservedPlaceAt(path: AbsPath, reserved: readonly AbsPath[]): AbsPath | undefined {
  return reserved.find((place) => overlaps(place, path));
}
