/**
 * The audit writer and the state folded from it, behind one queue: the three steps of a call's life that must be on disk before
 * anything outside happens. A step takes effect in memory when it is enqueued, in the order of the file; its caller goes on only once
 * the record is durable.
 */
import type { Clock } from "@boxmaker/edge/log";
import {
  ApprovalId,
  type AuditEvent,
  type AuditRecord,
  AuditSeq,
  type DenialReason,
  type Hash32,
  type Label,
  type Mount,
  type Origin,
  type SessionId,
  sha256,
  type Timestamp,
  timestampFromMillis,
  ZERO_HASH,
} from "@boxmaker/proto";
import type { AuditLog } from "../audit/audit-log.ts";
import type { GrantSet, GrantStore } from "../grants/grant-store.ts";
import { type BoxKind, type CallRequest, decide, type PolicyState, redecide, type Verdict } from "../policy/decide.ts";
import type { Ask, Decision } from "../policy/decision.ts";
import { recordArguments } from "./record-arguments.ts";
import { RunningBoxes } from "./running-boxes.ts";
import type { SessionStates } from "./session-states.ts";

/** A call that may run now: its decision is on disk. `release` must be called once its box has ended. */
export interface Dispatch {
  readonly kind: "run";
  readonly seq: AuditSeq;
  readonly decision: Decision;
  readonly mode: "allowed" | "ask";
  readonly release: () => void;
}

export type Decided =
  | Dispatch
  | { readonly kind: "ask"; readonly id: ApprovalId; readonly ask: Ask }
  | { readonly kind: "denied"; readonly reason: DenialReason };

/** What approving came to. `changed`: the call would now have another effect; `ask` is what would run now. */
export type Answered =
  | Dispatch
  | { readonly kind: "denied"; readonly reason: DenialReason }
  | { readonly kind: "changed"; readonly ask: Ask }
  | { readonly kind: "taken" };

/** Who answered. `brokerd` itself ends what expired or whose requester left. */
export interface Answerer {
  readonly by: "bxctl" | "gateway" | "brokerd";
  readonly user: string | null;
}

export interface LedgerOptions {
  readonly log: AuditLog;
  readonly states: SessionStates;
  readonly grants: GrantStore;
  readonly box: BoxKind;
  readonly clock: Clock;
  /** The state and ceiling of a new session. */
  readonly newSession: () => Promise<{ readonly state: Label; readonly ceiling: SessionCeiling }>;
  /** Keeps a grant file's text by its hash; resolves when it is durable. */
  readonly keepGrant: (sha256: Hash32, text: string) => Promise<void>;
  /** Told what each decision found, so that problems are printed. Must not throw. */
  readonly onGrants: (grants: GrantSet) => void;
  /** Told once, when the log can't be written any more. Must not throw. */
  readonly onStopped: (cause: unknown) => void;
}
type SessionCeiling = PolicyState["ceiling"];

const AUDIT_UNAVAILABLE = { kind: "denied", reason: "audit_unavailable" } as const;

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #running = new RunningBoxes();
  /** The latest time that a decision was taken at: the clock may be set back, policy's time may not. */
  #lastNow = 0;
  /** Hash over the grant files last recorded by `grants_changed`. */
  #grantsRecorded: Hash32 = ZERO_HASH;
  #stopped = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  get head(): number {
    return this.#options.log.head;
  }

  get stopped(): boolean {
    return this.#stopped || this.#options.log.stopped;
  }

  get states(): SessionStates {
    return this.#options.states;
  }

  get box(): BoxKind {
    return this.#options.box;
  }

  /** The grants as they are now. */
  grants(): Promise<GrantSet> {
    return this.#options.grants.current();
  }

  /** Policy's time: the clock's, never before that of an earlier decision. */
  now(): Timestamp {
    this.#lastNow = Math.max(this.#lastNow, this.#options.clock.now());
    return timestampFromMillis(this.#lastNow);
  }

  /** The state that policy sees for a session: its own, or a new one's. */
  async policyState(session: SessionId, origin: Origin): Promise<PolicyState> {
    const known = this.states.session(session);
    if (known !== undefined) return this.#policyState(known.label, known.origin, known.ceiling);
    const { state, ceiling } = await this.#options.newSession();
    return this.#policyState(state, origin, ceiling);
  }

  /**
   * Decides a request and records the decision; an allowed one raises the state and spends the use in the same step. Waits while a box
   * of another session has a mount that this one would share.
   *
   * Every failure to record is a denial, `audit_unavailable`, and stops the ledger.
   *
   * @throws {RequesterLeftError} when the signal aborts while it waits
   */
  async decide(request: CallRequest, origin: Origin, signal: AbortSignal): Promise<Decided> {
    for (;;) {
      const grants = await this.#currentGrants();
      const opening = await this.policyState(request.session, origin);
      if (grants === undefined || this.stopped) return AUDIT_UNAVAILABLE;
      const state = this.#stateNow(request.session, opening);
      const verdict = decide(request, grants, state, this.now(), this.box);
      const obstacle = verdict.kind === "allowed" ? this.#obstacle(request.session, verdict.decision) : undefined;
      if (obstacle !== undefined) {
        await waitFor(obstacle, signal);
        continue;
      }
      return this.#record(request, verdict, state);
    }
  }

  /** Decides again at the moment of approval and records the answer with the grant and state that this decision used. */
  async approve(id: ApprovalId, ask: () => Ask | undefined, take: () => boolean, who: Answerer): Promise<Answered> {
    for (;;) {
      const grants = await this.#currentGrants();
      if (grants === undefined || this.stopped) return AUDIT_UNAVAILABLE;
      const waiting = ask();
      if (waiting === undefined) return { kind: "taken" };
      const session = this.states.session(waiting.session);
      if (session === undefined) return { kind: "taken" };
      const state = this.#policyState(session.label, session.origin, session.ceiling);
      const verdict = redecide(waiting, grants, state, this.now(), this.box);
      if (verdict.kind === "changed") return { kind: "changed", ask: verdict.ask };
      const obstacle = verdict.kind === "allowed" ? this.#obstacle(waiting.session, verdict.decision) : undefined;
      if (obstacle !== undefined) {
        await obstacle;
        continue;
      }
      if (!take()) return { kind: "taken" };
      return this.#recordApproval(id, waiting, verdict, who, state);
    }
  }

  /** Records an answer that lets nothing run. Resolves to false where it couldn't be recorded. */
  async close(id: ApprovalId, answer: "refused" | "expired" | "gone", who: Answerer, reason: string | null): Promise<boolean> {
    return this.#durable(() => this.#append(approvalEvent(id, { answer, by: who.by, user: who.user, reason })));
  }

  /**
   * Records what a call came to. Only after it resolves to true may the content be released.
   *
   * @param content what the model will be given
   */
  async finish(
    dispatch: Dispatch,
    result: { readonly status: "ok" | "failed"; readonly content: string; readonly truncated: boolean; readonly elapsedMs: number },
  ): Promise<boolean> {
    return this.#durable(() =>
      this.#append({
        kind: "result",
        decision: dispatch.seq,
        session: dispatch.decision.session,
        call: dispatch.decision.call,
        status: result.status,
        sha256: sha256(result.content),
        bytes: Buffer.byteLength(result.content),
        truncated: result.truncated,
        elapsed_ms: result.elapsedMs,
      }),
    );
  }

  /** Appends a record of brokerd's own life (`started`, `stopped`, asks of an earlier life). Resolves to false where it couldn't. */
  async note(event: AuditEvent): Promise<boolean> {
    return this.#durable(() => this.#append(event));
  }

  /** Boxes that have been let run and haven't ended. */
  get running(): number {
    return this.#running.size;
  }

  #record(request: CallRequest, verdict: Verdict, state: PolicyState): Promise<Decided> {
    const recorded = recordArguments(verdict.record.arguments);
    return this.#step<Decided>(AUDIT_UNAVAILABLE, () => {
      if (this.states.session(request.session) === undefined) {
        const { label, origin, ceiling } = state;
        this.#append({ kind: "session_opened", session: request.session, origin, ceiling, state: label, from: null });
      }
      const { seq, durable } = this.#append({ kind: "decision", ...verdict.record, arguments: recorded.arguments }, recorded.blobs);
      switch (verdict.kind) {
        case "denied":
          return { durable, outcome: { kind: "denied", reason: verdict.reason } };
        case "ask":
          return { durable, outcome: { kind: "ask", id: ApprovalId.parse(seq), ask: verdict.ask } };
        case "allowed":
          return { durable, outcome: this.#dispatch(seq, verdict.decision, "allowed") };
        default:
          return verdict satisfies never;
      }
    });
  }

  #recordApproval(
    id: ApprovalId,
    ask: Ask,
    verdict: Exclude<ReturnType<typeof redecide>, { kind: "changed" }>,
    who: Answerer,
    state: PolicyState,
  ): Promise<Answered> {
    const { record } = verdict;
    const answer = { answer: "approved", by: who.by, user: who.user, digest: ask.digest, before: state.label } as const;
    return this.#step<Answered>(AUDIT_UNAVAILABLE, () => {
      if (verdict.kind === "denied") {
        const event = approvalEvent(id, {
          ...answer,
          outcome: "denied",
          denial: verdict.reason,
          grant: record.grant,
          grant_sha256: record.grant_sha256,
        });
        return { durable: this.#append(event).durable, outcome: { kind: "denied", reason: verdict.reason } };
      }
      const mode = verdict.mode === "ask" ? "ask" : "allowed";
      const { grant, grant_sha256, run } = record;
      const { durable } = this.#append(
        approvalEvent(id, { ...answer, outcome: mode, grant, grant_sha256, raises: verdict.decision.after, run }),
      );
      return { durable, outcome: this.#dispatch(AuditSeq.parse(id), verdict.decision, mode) };
    });
  }

  #dispatch(seq: AuditSeq, decision: Decision, mode: "allowed" | "ask"): Dispatch {
    return { kind: "run", seq, decision, mode, release: this.#running.enter(decision.session, decision.run.mounts) };
  }

  #obstacle(session: SessionId, decision: Decision): Promise<void> | undefined {
    const mounts: readonly Mount[] = decision.run.mounts;
    return this.#running.obstacle(session, mounts);
  }

  /** The current grants, after a set that differs from the last one recorded has been recorded. `undefined` where that failed. */
  async #currentGrants(): Promise<GrantSet | undefined> {
    const grants = await this.#options.grants.current();
    this.#options.onGrants(grants);
    if (grants.kind === "invalid") return grants;
    const files = grants.grants.map(({ file, sha256: hash }) => ({ file, sha256: hash }));
    const identity = sha256(JSON.stringify(files));
    if (identity === this.#grantsRecorded) return grants;
    try {
      await Promise.all(grants.grants.map(({ sha256: hash, text }) => this.#options.keepGrant(hash, text)));
    } catch (error) {
      // A decision whose grants can't be kept couldn't be taken again from the log.
      this.#stop(error);
      return undefined;
    }
    this.#grantsRecorded = identity;
    return (await this.note({ kind: "grants_changed", files })) ? grants : undefined;
  }

  #stateNow(session: SessionId, opening: PolicyState): PolicyState {
    const known = this.states.session(session);
    return known === undefined ? opening : this.#policyState(known.label, known.origin, known.ceiling);
  }

  #policyState(label: Label, origin: Origin, ceiling: SessionCeiling): PolicyState {
    const { states } = this;
    return { label, origin, ceiling, usesSpent: (grant) => states.usesSpent(grant), pathLabels: states.pathLabels };
  }

  /** Enqueues one record and folds it in. Throws where the log has stopped. */
  #append(event: AuditEvent, blobs: ReadonlyMap<Hash32, string> = new Map()): { seq: AuditSeq; durable: Promise<void> } {
    const { seq, time, durable } = this.#options.log.append(event, blobs);
    // Its failure is seen by whoever waits for the step; a record that nobody waits for must not end the process.
    durable.catch(() => undefined);
    const record: AuditRecord = { seq, time, prev: ZERO_HASH, event };
    this.states.apply(record);
    return { seq, durable };
  }

  /** Runs the enqueueing part of a step, then waits until it is durable. Where that fails, the outcome is the failure's. */
  async #step<T>(failed: T, enqueue: () => { durable: Promise<void>; outcome: T & { release?: () => void } }): Promise<T> {
    let outcome: (T & { release?: () => void }) | undefined;
    try {
      const step = enqueue();
      outcome = step.outcome;
      await step.durable;
      return outcome;
    } catch (error) {
      outcome?.release?.();
      this.#stop(error);
      return failed;
    }
  }

  async #durable(enqueue: () => { durable: Promise<void> }): Promise<boolean> {
    try {
      await enqueue().durable;
      return true;
    } catch (error) {
      // Fails closed: the caller releases nothing.
      this.#stop(error);
      return false;
    }
  }

  #stop(cause: unknown): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.onStopped(cause);
  }
}

type ApprovalFields = Extract<AuditEvent, { kind: "approval" }>;

function approvalEvent(id: ApprovalId, fields: Partial<ApprovalFields> & Pick<ApprovalFields, "answer" | "by">): ApprovalFields {
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
    grant: fields.grant ?? null,
    grant_sha256: fields.grant_sha256 ?? null,
    before: fields.before ?? null,
    raises: fields.raises ?? null,
    run: fields.run ?? null,
  };
}

/** The requester left while its call waited for another box: nothing was decided. */
export class RequesterLeftError extends Error {
  override readonly name = "RequesterLeftError";
}

/** @throws {RequesterLeftError} when the signal aborts before the event */
function waitFor(event: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new RequesterLeftError());
      return;
    }
    const onAbort = (): void => reject(new RequesterLeftError());
    signal.addEventListener("abort", onAbort, { once: true });
    const onEvent = (): void => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    };
    event.then(onEvent, onEvent);
  });
}
