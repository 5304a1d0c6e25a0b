/** The one error of a log that can't be written any more. */

/**
 * The log has stopped: nothing is recorded, so nothing may run, until brokerd is started again. The message is one printable line
 * with its runbook pointer; `cause` is what happened first.
 */
export class AuditStoppedError extends Error {
  override readonly name = "AuditStoppedError";
  readonly code = "audit_stopped";
}
