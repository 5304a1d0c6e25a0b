/** Is the newest checkpoint beside a log still true of it? The answer is the one that a start comes to; who signed it is another matter. */
import { compareLog, type ListedLog, type NewestReading } from "@boxmaker/edge/audit-files";
import { unreachable } from "@boxmaker/proto";

/** `covered`: what was signed is all there. `unknown`: there is no checkpoint. `differs`: `found` is there instead, a printable phrase. */
export type NewestComparison =
  | { readonly kind: "covered"; readonly size: number }
  | { readonly kind: "unknown" }
  | { readonly kind: "damaged"; readonly problem: string }
  | { readonly kind: "differs"; readonly size: number; readonly found: string };

/**
 * @param log that the chain has found whole or torn
 * @param newest as it was read before the files were listed, so that a log that is being written has its records already
 */
export async function compareNewest(log: ListedLog, newest: NewestReading): Promise<NewestComparison> {
  switch (newest.kind) {
    case "none":
      return { kind: "unknown" };
    case "damaged":
      return newest;
    case "newest": {
      const { size } = newest.newest.checkpoint;
      const comparison = await compareLog(log, newest.newest);
      return comparison.kind === "agrees" ? { kind: "covered", size } : { kind: "differs", size, found: comparison.found };
    }
    default:
      return unreachable(newest);
  }
}
