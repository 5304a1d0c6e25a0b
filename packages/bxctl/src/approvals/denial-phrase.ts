/** What the owner is told about a denial. The model is told less: see proto's DENIAL_SENTENCES. */
import type { DenialReason } from "@boxmaker/proto";

/** Those that come from a fault of the box, and not from a rule of the owner, say where to look. */
const PHRASES: Readonly<Record<DenialReason, string>> = {
  no_grant: "no grant allows it",
  invalid_arguments: "its arguments don't fit the tool",
  grants_invalid: "the grants can't be read, so that nothing is allowed; see docs/runbook.md#grants-invalid",
  denied_by_grant: "a grant forbids it",
  expired: "its grant has expired",
  taint: "the session has seen data too confidential for it",
  untrusted: "the session has read text of strangers, and its grant doesn't allow it after that",
  uses_spent: "its grant has been used up",
  audience: "its result is too confidential for where the session takes place",
  approval_refused: "it was refused",
  approval_expired: "nobody answered in time",
  audit_unavailable: "the audit log can't be written, so that nothing runs; see docs/runbook.md#audit-unavailable",
  low_space: "the disk is almost full, so that nothing runs; see docs/runbook.md#low-space",
  throttled: "too many requests came at once",
  no_sandbox: "the runtime can't run its tool, so that nobody was asked: that needs Podman or bubblewrap",
  requester_gone: "nobody was waiting for it any more",
  shutting_down: "brokerd is stopping",
};

/** One clause, with a runbook pointer at its end where the box itself is at fault. */
export function phraseDenial(reason: DenialReason): string {
  return PHRASES[reason];
}
