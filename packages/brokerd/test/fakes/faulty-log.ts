/** The real audit log, with failures and delays where a test wants them. */
import type { AuditEvent, Hash32 } from "@boxmaker/proto";
import type { AuditLog } from "../../src/audit/audit-log.ts";
import { AuditStoppedError } from "../../src/audit/audit-stopped-error.ts";

/** `throw`: the append itself fails. `reject`: it is enqueued, then writing it fails. `hold`: it is durable only after {@link FaultyLog.release}. */
export type Fault = "throw" | "reject" | "hold" | undefined;

export class FaultyLog {
  /** What happens to a record. */
  fault: (event: AuditEvent) => Fault = () => undefined;
  readonly #log: AuditLog;
  #failure: AuditStoppedError | undefined;
  #isFailing = false;
  #gate = Promise.withResolvers<void>();

  constructor(log: AuditLog) {
    this.#log = log;
  }

  get head(): number {
    return this.#log.head;
  }

  get stopped(): boolean {
    return this.#failure !== undefined || this.#log.stopped;
  }

  append(event: AuditEvent, blobs: ReadonlyMap<Hash32, string>): ReturnType<AuditLog["append"]> {
    if (this.#failure !== undefined) throw this.#failure;
    const fault = this.fault(event);
    const failure = new AuditStoppedError("a fault of the test");
    if (fault === "throw") {
      this.#failure = failure;
      throw failure;
    }
    const appended = this.#log.append(event, blobs);
    // As in the real one: what is enqueued behind a record that fails, fails with it.
    this.#isFailing ||= fault === "reject";
    if (this.#isFailing) {
      const durable = appended.durable.then(() => {
        this.#failure = failure;
        throw failure;
      });
      durable.catch(() => undefined);
      return { ...appended, durable };
    }
    if (fault === "hold") {
      const gate = this.#gate.promise;
      return { ...appended, durable: appended.durable.then(() => gate) };
    }
    return appended;
  }

  release(): void {
    this.#gate.resolve();
    this.#gate = Promise.withResolvers<void>();
  }
}
