/** The state at start: what was saved, carried on by the records behind it; or all of it from the log. */
import type { AbsPath } from "@boxmaker/proto";
import { type AuditLogOpening, type AuditLogOptions, openAuditLog } from "../audit/audit-log.ts";
import { SessionStates } from "./session-states.ts";
import { findSnapshot } from "./snapshot-file.ts";

export interface OpenedStates {
  readonly opening: AuditLogOpening;
  readonly states: SessionStates;
  /** The record that the file on disk was saved behind; 0 where it was of no use. */
  readonly saved: number;
  /** One line each, for the owner. */
  readonly notices: readonly string[];
}

/** Opens the log and folds the state. What was saved counts only where the log has the very record that it was saved behind. */
export async function openStates(
  log: Omit<AuditLogOptions, "onRecord" | "onDoubtful" | "onRestart" | "from">,
  savedState: AbsPath,
): Promise<OpenedStates> {
  const { snapshot, problem } = await findSnapshot(savedState);
  let states = snapshot?.states ?? new SessionStates();
  let saved: number = snapshot?.mark.seq ?? 0;
  const opening = await openAuditLog({
    ...log,
    from: snapshot?.mark,
    onRecord: (record) => states.apply(record),
    onDoubtful: (record) => states.doubt(record),
    onRestart: () => {
      states = new SessionStates();
      saved = 0;
    },
  });
  return { opening, states, saved, notices: problem === undefined ? [] : [problem] };
}
