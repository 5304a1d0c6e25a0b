/**
 * The audit writer and the state folded from it, behind one queue. A record takes effect in memory when it is enqueued, in the order of
 * the file; whoever enqueued it goes on only once it is durable. The first failure stops it for good.
 */
import { type AuditEvent, type AuditSeq, type Hash32, ZERO_HASH } from "@boxmaker/proto";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Denied } from "./outcomes.ts";
import type { LedgerStates, SessionStates } from "./session-states.ts";

export interface RecorderOptions {
  readonly log: Pick<AuditLog, "append" | "head" | "stopped">;
  readonly states: SessionStates;
  /** Told once, when the log can't be written any more. Must not throw. */
  readonly onStopped: (cause: unknown) => void;
  /** Told of each record when the states have taken it in, with what resolves when it is on disk. Must not throw. */
  readonly onAppended?: (durable: Promise<void>) => void;
}

/** A record on its way to the disk. */
export interface Appended {
  readonly seq: AuditSeq;
  readonly durable: Promise<void>;
}

export const AUDIT_UNAVAILABLE: Denied = { kind: "denied", reason: "audit_unavailable" };

const NO_BLOBS: ReadonlyMap<Hash32, string> = new Map();

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #whenStopped = Promise.withResolvers<void>();
  #isStopped = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  get head(): number {
    return this.#options.log.head;
  }

  get states(): LedgerStates {
    return this.#options.states;
  }

  /** Whether nothing can be recorded any more. It never becomes false again. */
  get stopped(): boolean {
    return this.#isStopped || this.#options.log.stopped;
  }

  /** Resolves when a record couldn't be written. */
  get whenStopped(): Promise<void> {
    return this.#whenStopped.promise;
  }

  /** Enqueues one record and folds it in. Throws where the log has stopped. */
  append(event: AuditEvent, blobs: ReadonlyMap<Hash32, string> = NO_BLOBS): Appended {
    const { seq, time, durable } = this.#options.log.append(event, blobs);
    // Whoever waits for the step sees its failure; a record that nobody waits for stops the ledger all the same.
    durable.catch((error: unknown) => this.stop(error));
    this.#options.states.apply({ seq, time, prev: ZERO_HASH, event });
    this.#options.onAppended?.(durable);
    return { seq, durable };
  }

  /** Runs the enqueueing part of a step, then waits until it is durable. Where that fails, the call is denied and nothing of it kept. */
  async step<T extends { release?: () => void } | object>(
    enqueue: () => { durable: Promise<void>; outcome: T },
  ): Promise<T | Denied> {
    let outcome: T | undefined;
    try {
      const step = enqueue();
      outcome = step.outcome;
      await step.durable;
      return outcome;
    } catch (error) {
      // Fails closed: what wasn't recorded doesn't happen.
      if (outcome !== undefined && "release" in outcome) outcome.release?.();
      this.stop(error);
      return AUDIT_UNAVAILABLE;
    }
  }

  /** Records one event. Resolves to false where it couldn't be recorded. */
  async durable(event: AuditEvent): Promise<boolean> {
    try {
      await this.append(event).durable;
      return true;
    } catch (error) {
      // Fails closed: the caller releases nothing.
      this.stop(error);
      return false;
    }
  }

  /** Stops for good. */
  stop(cause: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#options.onStopped(cause);
    this.#whenStopped.resolve();
  }
}
