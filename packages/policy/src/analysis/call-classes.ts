/** The kinds of calls that a set of grants tells apart, each with one call that stands for it. */
import { AbsPath, canonicalJson, type Timestamp, timestampFromMillis } from "@boxmaker/proto";
import type { LoadedGrant } from "../rules/grant.ts";
import { GrantIndex } from "../rules/grant-index.ts";
import type { ValidGrantSet } from "../rules/grant-set.ts";
import type { Findings, PolicyState } from "../rules/judge.ts";
import { findMatches } from "../rules/matching.ts";
import { BOTTOM, LABELS, stateAt, type Vantage, vantagesOf } from "./circumstances.ts";
import { judgeSituation } from "./judged.ts";
import { type SampleCall, sampleCalls } from "./sample-calls.ts";

/** A kind of calls from a kind of sessions: `matches` speak about all of them, the one that a record names first. */
export interface CallClass extends SampleCall {
  readonly vantage: Vantage;
  readonly matches: readonly LoadedGrant[];
}

/** The path and every folder above it but the root: a call about any of them reads what lies in them. */
function upwards(path: AbsPath): readonly AbsPath[] {
  const components = path.slice(1).split("/");
  return components.map((_, index) => AbsPath.parse(`/${components.slice(0, index + 1).join("/")}`));
}

/** The grants and places of some sets, with which calls are sampled. */
export function samplesOf(...sets: readonly ValidGrantSet[]): readonly SampleCall[] {
  const grants = sets.flatMap((set) => set.grants.map(({ grant }) => grant));
  const labelled = sets.flatMap((set) => (set.labels ?? []).flatMap(({ path }) => upwards(path)));
  return sampleCalls(grants, labelled);
}

/** Every sample as each kind of session may ask for it, with what speaks about it. */
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

const FIRST_MOMENT = timestampFromMillis(0);
const LAST_MOMENT = timestampFromMillis(Date.UTC(9999, 11, 31));

/** What a judgement says whatever is permitted: what is read, and the grant that is named. */
type Gist = Pick<Findings, "label"> & { readonly named: string | null };

/**
 * What is found out of a call where all is permitted that ever is, and, where `otherwise` may let it run, in each state once all is
 * spent and over that can be: what `otherwise` says counts only where no grant permits, which a new session need not show.
 */
function gistsOf({ call, vantage: { session, origin } }: CallClass, set: ValidGrantSet): readonly Gist[] {
  const gist = (state: PolicyState, now: Timestamp): Gist => {
    const { label, named } = judgeSituation({ call, session, set, state, now }).findings;
    return { label, named: named?.grant ?? null };
  };
  const fresh = gist(stateAt(BOTTOM, origin), FIRST_MOMENT);
  if (set.otherwise?.get(call.tool) === undefined) return [fresh];
  return [
    fresh,
    ...LABELS.map((label) =>
      gist(
        stateAt(label, origin, () => Number.MAX_SAFE_INTEGER),
        LAST_MOMENT,
      ),
    ),
  ];
}

/** What a set says of a call whatever the state is: two calls for which this is the same are decided alike in every state. */
function identityOf(each: CallClass, set: ValidGrantSet): string {
  const ids = each.matches.map(({ grant }) => grant.id).toSorted();
  return canonicalJson({ tool: each.call.tool, ids, gists: gistsOf(each, set) });
}

/** The kinds of calls: all of them, and those that a kind of sessions has. */
export interface CallClasses {
  /** One call of each kind. Nothing about outcome, reason or label of any call is lost by looking at these alone. */
  readonly all: readonly CallClass[];
  readonly of: (vantage: Vantage) => readonly CallClass[];
}

function firstOfEach(samples: readonly (readonly [string, CallClass])[]): readonly CallClass[] {
  return [...new Map(samples.toReversed()).values()].toReversed();
}

/** Sorts the samples into classes. */
export function classify(set: ValidGrantSet, samples: readonly CallClass[]): CallClasses {
  const identified = samples.map((each) => [identityOf(each, set), each] as const);
  const byVantage = Map.groupBy(identified, ([, { vantage }]) => vantage);
  return {
    all: firstOfEach(identified),
    of: (vantage) => firstOfEach(byVantage.get(vantage) ?? []),
  };
}
