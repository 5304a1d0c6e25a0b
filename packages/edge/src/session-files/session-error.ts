/** Why a session can't be used. */

export type SessionFault = "exists" | "missing" | "damaged" | "unreadable" | "unwritable";

/** `message` is one printable line; for the owner it ends with a runbook pointer. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly fault: SessionFault;

  constructor(fault: SessionFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}
