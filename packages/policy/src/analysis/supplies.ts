/** Uses and time: what a grant can run out of. A session doesn't choose them, so a theorem must hold however they stand. */
import { millisFromTimestamp, type Timestamp, timestampFromMillis } from "@boxmaker/proto";
import type { Grant } from "../rules/grant.ts";

/** Uses that are spent, by grant, at a time. */
export interface Supplies {
  readonly spent: ReadonlyMap<string, number>;
  readonly now: Timestamp;
}

/** More grants with uses than these aren't combined in every way for one call, but each by itself and all at once. */
export const MAX_COMBINED = 4;
/** Expiries after these are not looked at for one call. */
export const MAX_TIMES = 4;

function subsets<T>(all: readonly T[]): readonly (readonly T[])[] {
  if (all.length > MAX_COMBINED) return [[], ...all.map((one) => [one]), all];
  let sets: readonly (readonly T[])[] = [[]];
  for (const one of all) sets = [...sets, ...sets.map((set) => [...set, one])];
  return sets;
}

/** Every way in which the uses of the grants that speak about a call may be spent, now and after each of their expiries. */
export function suppliesOf(grants: readonly Grant[], now: Timestamp): readonly Supplies[] {
  const limited = grants.flatMap(({ id, uses }) => (uses === null ? [] : [[id, uses] as const]));
  const from = millisFromTimestamp(now);
  const later = grants.flatMap(({ expires }) => (expires === null || expires <= from ? [] : [expires]));
  const times = [from, ...[...new Set(later)].toSorted((a, b) => a - b).slice(0, MAX_TIMES)];
  return times.flatMap((time) => subsets(limited).map((spent) => ({ spent: new Map(spent), now: timestampFromMillis(time) })));
}

/** Whether {@link suppliesOf} leaves out some way for these grants. */
export function areSuppliesCut(grants: readonly Grant[]): boolean {
  const limited = grants.filter(({ uses }) => uses !== null);
  const expiring = grants.filter(({ expires }) => expires !== null);
  return limited.length > MAX_COMBINED || expiring.length > MAX_TIMES;
}
