/** What opening a runtime needs and comes to. */
import type { AbsPath } from "@boxmaker/proto";
import type { Runtime } from "./runtime.ts";

/**
 * `problem` is one line that ends in a runbook pointer; `notices` are lines that the owner should see; `reserved` are places of the
 * runtime's own, in which no box may read or write: they hold other boxes.
 */
export type Opening =
  | {
      readonly kind: "ready";
      readonly runtime: Runtime;
      readonly notices: readonly string[];
      readonly reserved: readonly AbsPath[];
    }
  | { readonly kind: "refused"; readonly problem: string };

/** What brokerd gives its runner. */
export interface RunnerPlace {
  /** A directory of the runner's own, for files that boxes get: mode 0700, below home. */
  readonly directory: AbsPath;
  /** Tells this brokerd's boxes from another's on the same machine; the same after a restart. */
  readonly instance: string;
  readonly uid: number;
  readonly gid: number;
  readonly node: AbsPath;
  readonly toolkit: AbsPath;
  readonly warn: (line: string) => void;
}
