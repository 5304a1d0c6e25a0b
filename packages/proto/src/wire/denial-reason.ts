/** Why a call was denied, and the one sentence that the model is told. */
import { z } from "zod";

export const DenialReason = z.enum([
  "no_grant",
  "invalid_arguments",
  "grants_invalid",
  "denied_by_grant",
  "expired",
  "taint",
  "untrusted",
  "uses_spent",
  "audience",
  "approval_refused",
  "approval_expired",
  "audit_unavailable",
  "low_space",
  "throttled",
  "no_sandbox",
  "requester_gone",
  "shutting_down",
]);
export type DenialReason = z.infer<typeof DenialReason>;

/** The fixed sentence for the model: it names no grant, path or state, which the model could use to steer. */
export const DENIAL_SENTENCES: Readonly<Record<DenialReason, string>> = Object.freeze({
  no_grant: "Denied: no grant of the owner allows this call.",
  invalid_arguments: "Denied: the arguments do not fit this tool.",
  grants_invalid: "Denied: the owner's grants cannot be read right now.",
  denied_by_grant: "Denied: a grant of the owner forbids this call.",
  expired: "Denied: the grant for this call has expired.",
  taint: "Denied: this conversation has seen data too confidential for this call.",
  untrusted: "Denied: this conversation has read text of strangers, and the grant does not allow this call after that.",
  uses_spent: "Denied: the grant for this call has been used up.",
  audience: "Denied: the result is too confidential for where this conversation takes place.",
  approval_refused: "Denied: the owner refused this call.",
  approval_expired: "Denied: the owner did not answer in time.",
  audit_unavailable: "Denied: the audit log cannot be written.",
  low_space: "Denied: the disk is almost full.",
  throttled: "Denied: too many requests.",
  no_sandbox: "Denied: this box has no sandbox that could run this tool.",
  requester_gone: "Denied: nobody was waiting for this call any more.",
  shutting_down: "Denied: the box is shutting down.",
});
