/** The record of how an ask ended, with everything that this end doesn't have as null. */
import type { ApprovalAuditEvent, ApprovalId } from "@boxmaker/proto";

/** @param fields what this end has; the answer and who gave it always */
export function approvalEvent(
  id: ApprovalId,
  fields: Partial<ApprovalAuditEvent> & Pick<ApprovalAuditEvent, "answer" | "by">,
): ApprovalAuditEvent {
  return {
    kind: "approval",
    decision: id,
    answer: fields.answer,
    by: fields.by,
    user: fields.user ?? null,
    reason: fields.reason ?? null,
    outcome: fields.outcome ?? null,
    denial: fields.denial ?? null,
    digest: fields.digest ?? null,
    now: fields.now ?? null,
    grant: fields.grant ?? null,
    grant_sha256: fields.grant_sha256 ?? null,
    before: fields.before ?? null,
    raises: fields.raises ?? null,
    spends: fields.spends ?? null,
    run: fields.run ?? null,
  };
}
