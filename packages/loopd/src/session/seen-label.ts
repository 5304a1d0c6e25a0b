/** What the results in a session's records had in them. */
import { joinLabel, type Label, type SessionRecord } from "@boxmaker/proto";

/** Nothing seen yet. */
export const UNSEEN: Label = { taint: "public", untrusted: false };

/** The label after these records, which comes after `before`. */
export function seenLabel(records: readonly SessionRecord[], before: Label): Label {
  return records.reduce((label, record) => {
    if (record.kind !== "tool_result" || record.class === null) return label;
    return joinLabel(label, { taint: record.class, untrusted: record.untrusted === true });
  }, before);
}
