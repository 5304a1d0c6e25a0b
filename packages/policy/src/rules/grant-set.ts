/** All rules of the owner at one moment, or everything that is wrong with them. */
import type { AbsPath, DataClass, GrantProblem, Hash32, ToolName } from "@boxmaker/proto";
import type { Effect } from "./effect.ts";
import type { LoadedGrant } from "./grant.ts";
import type { TreeLabel } from "./path-labels.ts";

/**
 * The files beside the grants directory that the set is made of, as {@link SetFile} and records name them, wherever the configuration
 * puts them: no file of the directory has such a name.
 */
export const TOOLS_FILE = "etc/tools.toml";
/** As {@link TOOLS_FILE}: the owner's labels of trees. */
export const LABELS_FILE = "etc/labels.toml";

/** What a record names as the grant of a call that only `otherwise` lets through. No grant has such an id. */
export const OTHERWISE_GRANT = "tools.toml";

/** What a call of a tool gets that no grant permits now. */
export interface Otherwise {
  readonly effect: Exclude<Effect, "auto">;
  /** It permits nothing above this. */
  readonly maxTaint: DataClass;
  /** The most that it gives once the session is untrusted. */
  readonly ifUntrusted: Effect;
  /** The class of results that came this way. */
  readonly label: DataClass;
  /** Whether they may hold a stranger's words. */
  readonly untrusted: boolean;
  /** Of the file that says so. */
  readonly sha256: Hash32;
  /** The box's own places, which no grant may name and no call may come to this way, as written and without links. */
  readonly reserved: readonly AbsPath[];
}

/** A file that the set is made of. */
export interface SetFile {
  /** The name in the grants directory, or {@link TOOLS_FILE} or {@link LABELS_FILE}. */
  readonly file: string;
  readonly sha256: Hash32;
  readonly text: string;
}

/** A set in force: permissions, restrictions, and what the owner says of tools and trees. */
export interface ValidGrantSet {
  readonly kind: "valid";
  /** Sorted by file name; grants of sessions behind them. */
  readonly grants: readonly LoadedGrant[];
  /** Tools that aren't in it are denied where no grant permits. */
  readonly otherwise?: ReadonlyMap<ToolName, Otherwise>;
  /** The owner's labels of trees: they join what is read there. */
  readonly labels?: readonly TreeLabel[];
  /** All files that make up the set, in the order of their names: what `grants_changed` records. */
  readonly files: readonly SetFile[];
}

/** One invalid file makes the whole set invalid: a set with a hole could miss a deny. */
export type GrantSet = ValidGrantSet | { readonly kind: "invalid"; readonly problems: readonly GrantProblem[] };
