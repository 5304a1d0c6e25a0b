/** What the audit log knows that grants are judged by: how each was used, and what boxes left on paths. */
import type { PolicyState } from "@boxmaker/policy";
import { LogFold } from "@boxmaker/policy/analysis";
import type { PathLabel, Timestamp } from "@boxmaker/proto";
import { RecordedLog, UnreadableLogError } from "../audit/read-records.ts";

/** `decisions` that a grant spoke about, the time of the `last` one, and how many of its uses are `spent`. */
export interface GrantUse {
  readonly decisions: number;
  readonly last: Timestamp | null;
  readonly spent: number;
}

export interface Past {
  /** By the id of a grant. */
  readonly uses: ReadonlyMap<string, GrantUse>;
  readonly pathLabels: readonly PathLabel[];
}

/** A log without a record. */
export const NO_PAST: Past = { uses: new Map(), pathLabels: [] };

export type PastReading = { readonly kind: "ok"; readonly past: Past } | { readonly kind: "failed"; readonly problem: string };

/** Reads the whole log. The problem of one that can't be read is one printable line with its pointer. */
export async function readPast(directory: string): Promise<PastReading> {
  const fold = new LogFold();
  const uses = new Map<string, GrantUse>();
  const change = (grant: string, changed: (use: GrantUse) => Partial<GrantUse>): void => {
    const use = uses.get(grant) ?? { decisions: 0, last: null, spent: 0 };
    uses.set(grant, { ...use, ...changed(use) });
  };
  try {
    const log = await RecordedLog.open(directory);
    for (const { record, doubtful } of log.entries()) {
      const { event, time } = record;
      if (!doubtful) fold.apply(record);
      if (event.kind === "decision" && !doubtful) {
        for (const { grant } of event.matched) change(grant, ({ decisions }) => ({ decisions: decisions + 1, last: time }));
      }
      // As brokerd counts: a use that may have been spent is.
      if (event.kind === "decision" || event.kind === "approval") {
        if (event.spends !== null) change(event.spends, ({ spent }) => ({ spent: spent + 1 }));
      }
    }
    return { kind: "ok", past: { uses, pathLabels: fold.pathLabels } };
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    return { kind: "failed", problem: error.message };
  }
}

/** What policy is told of the past. */
export function pastState({ uses, pathLabels }: Past): Pick<PolicyState, "usesSpent" | "pathLabels"> {
  return { usesSpent: (id) => uses.get(id)?.spent ?? 0, pathLabels };
}
