/** How often each grant was in a decision, by the audit log. */
import type { Timestamp } from "@boxmaker/proto";
import { RecordedLog, UnreadableLogError } from "../audit/read-records.ts";

/** `decisions` that it spoke about, the time of the `last` one, and how many of its uses are `spent`. */
export interface GrantUse {
  readonly decisions: number;
  readonly last: Timestamp | null;
  readonly spent: number;
}

/** By the id of a grant. */
export type Uses = ReadonlyMap<string, GrantUse>;

export const NO_USES: Uses = new Map();

export type UsesReading = { readonly kind: "ok"; readonly uses: Uses } | { readonly kind: "failed"; readonly problem: string };

/** Reads the whole log. The problem of one that can't be read is one printable line with its pointer. */
export async function readUses(directory: string): Promise<UsesReading> {
  const uses = new Map<string, GrantUse>();
  const change = (grant: string, changed: (use: GrantUse) => Partial<GrantUse>): void => {
    const use = uses.get(grant) ?? { decisions: 0, last: null, spent: 0 };
    uses.set(grant, { ...use, ...changed(use) });
  };
  try {
    const log = await RecordedLog.open(directory);
    for (const { record, doubtful } of log.entries()) {
      const { event, time } = record;
      if (event.kind === "decision" && !doubtful) {
        for (const { grant } of event.matched) change(grant, ({ decisions }) => ({ decisions: decisions + 1, last: time }));
      }
      // As brokerd counts: a use that may have been spent is.
      if (event.kind === "decision" || event.kind === "approval") {
        if (event.spends !== null) change(event.spends, ({ spent }) => ({ spent: spent + 1 }));
      }
    }
    return { kind: "ok", uses };
  } catch (error) {
    if (!(error instanceof UnreadableLogError)) throw error;
    return { kind: "failed", problem: error.message };
  }
}
