/** What is odd about each grant of a set: grants that do nothing, that others take the effect from, or that will soon lapse. */
import { type Hash32, millisFromTimestamp, type Timestamp, timestampFromMillis } from "@boxmaker/proto";
import type { LoadedGrant } from "../rules/grant.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { type CallClass, matchedSamples } from "./call-classes.ts";
import { placeOf } from "./explain.ts";

/** One oddity. `by` and `with` are ids of grants. */
export type Oddity =
  | { readonly kind: "never_matches" }
  | { readonly kind: "shadowed"; readonly by: readonly string[] }
  | { readonly kind: "always_asks"; readonly by: readonly string[] }
  | { readonly kind: "expired"; readonly expires: Timestamp }
  | { readonly kind: "expiring"; readonly expires: Timestamp }
  | { readonly kind: "spent"; readonly uses: number }
  | { readonly kind: "overlaps"; readonly with: readonly string[] };

/** An oddity of a grant and the line (from 1) that it's about. */
export interface Finding {
  readonly grant: string;
  readonly file: string;
  readonly line: number;
  readonly sha256: Hash32;
  readonly oddity: Oddity;
}

export interface LintOptions {
  /** Grants that expire within this many milliseconds are reported. */
  readonly expiringWithinMs: number;
  /** How many uses of a grant have been spent. */
  readonly usesSpent: (grantId: string) => number;
}

/** The ids of those grants that one of `classes` has for each of its calls, or none where a call has no such grant. */
function coveringAll(classes: readonly CallClass[], isCover: (loaded: LoadedGrant) => boolean): readonly string[] {
  const covers = classes.map(({ matches }) => matches.filter(isCover).map(({ grant }) => grant.id));
  if (covers.length === 0 || covers.some((ids) => ids.length === 0)) return [];
  return [...new Set(covers.flat())].toSorted();
}

/** A grant of the same mode and tool that speaks about some of the same calls. */
function overlapping(loaded: LoadedGrant, classes: readonly CallClass[]): readonly string[] {
  const others = classes.flatMap(({ matches }) =>
    matches.filter((other) => other !== loaded && other.grant.mode === loaded.grant.mode),
  );
  return [...new Set(others.map(({ grant }) => grant.id))].toSorted();
}

function odditiesOf(loaded: LoadedGrant, classes: readonly CallClass[], now: Timestamp, options: LintOptions): readonly Oddity[] {
  const { mode, expires, uses, id } = loaded.grant;
  if (classes.length === 0) return [{ kind: "never_matches" }];
  const oddities: Oddity[] = [];
  const denying = mode === "deny" ? [] : coveringAll(classes, ({ grant }) => grant.mode === "deny");
  if (denying.length > 0) oddities.push({ kind: "shadowed", by: denying });
  const restricting = mode === "auto" ? coveringAll(classes, ({ grant }) => grant.mode !== "auto") : [];
  if (denying.length === 0 && restricting.length > 0) oddities.push({ kind: "always_asks", by: restricting });
  const at = millisFromTimestamp(now);
  if (expires !== null && expires <= at) oddities.push({ kind: "expired", expires: timestampFromMillis(expires) });
  else if (expires !== null && expires <= at + options.expiringWithinMs) {
    oddities.push({ kind: "expiring", expires: timestampFromMillis(expires) });
  }
  if (uses !== null && options.usesSpent(id) >= uses) oddities.push({ kind: "spent", uses });
  const others = overlapping(loaded, classes);
  if (others.length > 0) oddities.push({ kind: "overlaps", with: others });
  return oddities;
}

function keyOf(oddity: Oddity): string {
  switch (oddity.kind) {
    case "expired":
    case "expiring":
      return "expires";
    case "spent":
      return "uses";
    case "never_matches":
      return "constraints";
    case "shadowed":
    case "always_asks":
    case "overlaps":
      return "id";
    default:
      return oddity satisfies never;
  }
}

/** Everything odd about the grants, in their order. Nothing of it makes the set invalid. */
export function lint(set: ValidGrantSet, now: Timestamp, options: LintOptions): readonly Finding[] {
  const classes = matchedSamples(set);
  return set.grants.flatMap((loaded) => {
    const own = classes.filter(({ matches }) => matches.includes(loaded));
    return odditiesOf(loaded, own, now, options).map((oddity) => {
      const { isDefault: _, ...place } = placeOf(loaded, [keyOf(oddity)]);
      return { ...place, oddity };
    });
  });
}
