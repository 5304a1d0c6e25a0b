/** The kinds of calls that a set of grants tells apart, each with one call that stands for it. */
import { canonicalJson, type Label } from "@boxmaker/proto";
import type { LoadedGrant } from "../rules/grant.ts";
import { GrantIndex } from "../rules/grant-index.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import { findMatches } from "../rules/matching.ts";
import { labelsRead } from "../rules/path-labels.ts";
import { type Vantage, vantagesOf } from "./circumstances.ts";
import { type SampleCall, sampleCalls } from "./sample-calls.ts";

/** A kind of calls from a kind of sessions: `matches` speak about all of them, the one that a record names first. */
export interface CallClass extends SampleCall {
  readonly vantage: Vantage;
  readonly matches: readonly LoadedGrant[];
}

/** The grants and places of a set, with which calls are sampled. */
export function samplesOf(...sets: readonly ValidGrantSet[]): readonly SampleCall[] {
  const grants = sets.flatMap((set) => set.grants.map(({ grant }) => grant));
  return sampleCalls(
    grants,
    sets.flatMap((set) => (set.labels ?? []).map(({ path }) => path)),
  );
}

/** Every sample from every kind of session, with what speaks about it. */
export function matchedSamples(set: ValidGrantSet): readonly CallClass[] {
  const index = GrantIndex.of(set.grants);
  const samples = samplesOf(set);
  return vantagesOf(set.grants.map(({ grant }) => grant)).flatMap((vantage) =>
    samples.map((sample) => ({
      ...sample,
      vantage,
      matches: findMatches(index, sample.call, vantage.session, vantage.origin).map(({ loaded }) => loaded),
    })),
  );
}

/** What a set says of a call whatever the state is: two calls for which this is the same are decided alike. */
function identityOf({ call, matches }: CallClass, labels: readonly Label[]): string {
  return canonicalJson({ tool: call.tool, matches: matches.map(({ grant }) => grant.id).toSorted(), labels });
}

/** One call of each kind. Nothing about outcome, reason or label of any call is lost by looking at these alone. */
export function callClasses(set: ValidGrantSet): readonly CallClass[] {
  const owned = set.labels ?? [];
  const classes = new Map<string, CallClass>();
  for (const each of matchedSamples(set)) {
    const read = each.call.tool === "read_file" ? labelsRead(each.call, [], owned).map(({ label }) => label) : [];
    const identity = identityOf(each, read);
    if (!classes.has(identity)) classes.set(identity, each);
  }
  return [...classes.values()];
}
