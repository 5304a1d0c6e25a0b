/** All grants of the owner at one moment, or everything that is wrong with them. */
import type { DataClass, GrantProblem, ToolName } from "@boxmaker/proto";
import type { Effect } from "./effect.ts";
import type { LoadedGrant } from "./grant.ts";

/** What a call of a tool gets that no grant permits now. */
export interface Otherwise {
  readonly effect: Exclude<Effect, "auto">;
  readonly maxTaint: DataClass;
  readonly ifUntrusted: Effect;
}

/** Sorted by file name. One invalid file makes the whole set invalid: a set with a hole could miss a deny. */
export type GrantSet =
  | {
      readonly kind: "valid";
      readonly grants: readonly LoadedGrant[];
      /** Tools that aren't in it are denied where no grant permits. */
      readonly otherwise?: ReadonlyMap<ToolName, Otherwise>;
    }
  | { readonly kind: "invalid"; readonly problems: readonly GrantProblem[] };
