/**
 * The three steps of a call's life that must be on disk before anything outside happens: decide, approve, finish. Each judges and
 * enqueues without waiting in between, so that nothing can come between what is judged and what is recorded.
 */
import type { Clock } from "@boxmaker/edge/log";
import {
  type Ask,
  type BoxKind,
  type CallRequest,
  type Decision,
  type DecisionRecord,
  decide,
  type GrantSet,
  type PolicyState,
  redecide,
  type Verdict,
} from "@boxmaker/policy";
import type { GrantStore } from "@boxmaker/policy/grants";
import {
  type AbsPath,
  ApprovalId,
  AuditSeq,
  type CallId,
  type DenialReason,
  type Hash32,
  type Label,
  type Origin,
  type SessionId,
  sha256,
  type Timestamp,
  timestampFromMillis,
} from "@boxmaker/proto";
import type { BoxReach } from "../runner/box-reach.ts";
import type { Admission } from "./admission.ts";
import { approvalEvent } from "./approval-event.ts";
import { GrantsInForce } from "./grants-in-force.ts";
import type { Answered, Answerer, CallResult, Decided, Denied, Dispatch } from "./outcomes.ts";
import { OwnerActs } from "./owner-acts.ts";
import { recordArguments } from "./record-arguments.ts";
import { AUDIT_UNAVAILABLE, Recorder, type RecorderOptions } from "./recorder.ts";
import { RunningBoxes } from "./running-boxes.ts";
import { type CheckAdded, SessionGrants } from "./session-grants.ts";
import { isUsed, type LedgerStates } from "./session-states.ts";
import { waitForEither } from "./wait-for-either.ts";

export interface LedgerOptions extends RecorderOptions {
  readonly grants: Pick<GrantStore, "current" | "reserved">;
  readonly admission: Admission;
  readonly box: BoxKind;
  /** Boxes that may run at the same time; further calls wait. */
  readonly maxBoxes: number;
  readonly clock: Pick<Clock, "now">;
  /** The state and ceiling of a new session. */
  readonly newSession: () => Promise<{ readonly state: Label; readonly ceiling: PolicyState["ceiling"] }>;
  /** Keeps a grant file's text by its hash; resolves when it is durable. */
  readonly keepGrant: (sha256: Hash32, text: string) => Promise<void>;
  /** Told what each decision found, so that problems are printed. Must not throw. */
  readonly onGrants: (grants: GrantSet) => void;
  /** Told when a grant of a session has ended and no call is to be answered by it any more. Must not throw. */
  readonly onSessionGrantOver: () => void;
  /** Whether a box that has answered may write there still. */
  readonly mayStillWrite: (path: AbsPath) => boolean;
  /** Checks a grant of `allow` against the owner's files as one of them is checked. */
  readonly checkAdded: CheckAdded;
}

const BROKERD: Answerer = { by: "brokerd", user: null };

/** A request, and the number of the first call of its turn. */
export type TurnRequest = CallRequest & { readonly turn: CallId };

type DeniedVerdict = Extract<Verdict, { kind: "denied" }>;

/** What policy said, where brokerd has a reason of its own why the call can't be. A denial of policy's stays what it is. */
function deny(verdict: Verdict, reason: DenialReason): DeniedVerdict {
  if (verdict.kind === "denied") return verdict;
  return { kind: "denied", reason, record: { ...verdict.record, outcome: "denied", reason, raises: null, run: null } };
}

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #running: RunningBoxes;
  readonly #recorder: Recorder;
  readonly #grants: GrantsInForce;
  readonly #sessionGrants: SessionGrants;
  /** What the owner does beside answering asks. */
  readonly owner: OwnerActs;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#recorder = new Recorder(options);
    this.#running = new RunningBoxes(options.maxBoxes);
    this.#sessionGrants = new SessionGrants(this.#recorder, options.checkAdded, options.onSessionGrantOver);
    this.#grants = new GrantsInForce({
      store: options.grants,
      keep: options.keepGrant,
      record: (files) => this.#recorder.append({ kind: "grants_changed", files }),
    });
    this.owner = new OwnerActs({
      recorder: this.#recorder,
      running: this.#running,
      mayStillWrite: options.mayStillWrite,
      sessionGrants: this.#sessionGrants,
      currentGrants: () => this.#currentGrants(),
      grants: () => this.grants(),
      now: () => this.now(),
      newSession: options.newSession,
      keepGrant: options.keepGrant,
    });
  }

  get head(): number {
    return this.#recorder.head;
  }

  /** Whether nothing can be recorded any more, so that every call is denied. It never becomes false again. */
  get stopped(): boolean {
    return this.#recorder.stopped;
  }

  /** Resolves when a record couldn't be written. */
  get whenStopped(): Promise<void> {
    return this.#recorder.whenStopped;
  }

  get states(): LedgerStates {
    return this.#recorder.states;
  }

  get box(): BoxKind {
    return this.#options.box;
  }

  /** Boxes that have been let run and haven't ended. */
  get running(): number {
    return this.#running.size;
  }

  /** The owner's grants as they are now, and those that the session has of its own where one is given. */
  async grants(session?: SessionId): Promise<GrantSet> {
    const grants = await this.#grants.look();
    return session === undefined ? grants : this.#sessionGrants.addTo(grants, session);
  }

  /** Policy's time: the clock's, but never before anything on record. The owner may set the clock back; an expired grant stays so. */
  now(): Timestamp {
    return timestampFromMillis(Math.max(this.states.latest, this.#options.clock.now()));
  }

  /** The state that policy sees for a session: its own, or a new one's. */
  async policyState(session: SessionId, origin: Origin): Promise<PolicyState> {
    const known = this.#knownState(session);
    if (known !== undefined) return known;
    const { state, ceiling } = await this.#options.newSession();
    return this.#policyState({ label: state, origin, ceiling });
  }

  /**
   * Decides a request and records the decision; an allowed one raises the state and spends the use in the same step. Waits while a box
   * of another session has a mount that this one would share, or an earlier one of this session could carry away what this one writes.
   *
   * Every failure to record is a denial, `audit_unavailable`, and stops the ledger. A call of another origin's session, or of a number that
   * its session has used, isn't decided.
   *
   * @param signal aborts when nobody waits for the call any more
   */
  async decide(request: TurnRequest, origin: Origin, signal: AbortSignal): Promise<Decided> {
    const { session } = request;
    for (;;) {
      const grants = await this.#currentGrants();
      const opening = await this.policyState(session, origin);
      if (grants === undefined || this.stopped) return AUDIT_UNAVAILABLE;
      // Another call may have found and recorded other grants while this one waited: it isn't to be decided by the older ones behind them.
      if (!this.#grants.isInForce(grants)) continue;
      // From here to the append nothing is awaited, so nothing can come between what is judged and what is recorded.
      const state = this.#knownState(session) ?? opening;
      if (state.origin !== origin) return { kind: "foreign" };
      const used = this.states.session(session)?.calls;
      if (used !== undefined && isUsed(used, request.call)) return { kind: "reused" };
      const set = this.#sessionGrants.addTo(grants, session);
      const decided = decide(request, set, state, this.now(), this.box);
      const verdict = signal.aborted ? deny(decided, "requester_gone") : this.#admit(session, decided, request.turn);
      const isKnown = this.states.session(session) !== undefined;
      // Such a session isn't opened either: whoever makes them up mustn't fill the log's state.
      if (!isKnown && !this.#options.admission.mayOpen) return this.#recordUnopened(request, deny(decided, "throttled"));
      const obstacle = verdict.kind === "allowed" ? this.#running.obstacle(reachOf(verdict.decision)) : undefined;
      if (obstacle === undefined) return this.#record(request, verdict, state);
      await waitForEither(obstacle, [signal, this.#options.admission.stopping]);
    }
  }

  /**
   * Decides again at the moment of approval and records the answer with the grant and state that this decision used.
   *
   * @param ask the ask as it waits now, or undefined where it can't be approved any more
   * @param take takes it out of the table; false where somebody else has. Called in the step that records the answer
   */
  async approve(id: ApprovalId, ask: () => Ask | undefined, take: () => boolean, who: Answerer): Promise<Answered> {
    for (;;) {
      const grants = await this.#currentGrants();
      if (grants === undefined || this.stopped) return AUDIT_UNAVAILABLE;
      if (!this.#grants.isInForce(grants)) continue;
      const waiting = ask();
      const state = waiting === undefined ? undefined : this.#knownState(waiting.session);
      if (waiting === undefined || state === undefined) return { kind: "taken" };
      const set = this.#sessionGrants.addTo(grants, waiting.session);
      const verdict = redecide(waiting, set, state, this.now(), this.box);
      if (verdict.kind === "changed") return { kind: "changed", ask: verdict.ask };
      const admitted = this.#admit(waiting.session, verdict, undefined);
      const obstacle = admitted.kind === "allowed" ? this.#running.obstacle(reachOf(admitted.decision)) : undefined;
      if (obstacle === undefined) return take() ? this.#recordApproval(id, waiting, admitted, who, state) : { kind: "taken" };
      await waitForEither(obstacle, [this.#options.admission.stopping]);
    }
  }

  /** Records an answer that lets nothing run. Resolves to false where it couldn't be recorded. */
  async close(id: ApprovalId, answer: "refused" | "expired" | "gone", who: Answerer, reason: string | null): Promise<boolean> {
    return this.#recorder.durable(approvalEvent(id, { answer, by: who.by, user: who.user, reason }));
  }

  /** Records what a call came to. Only after it resolves to true may the content be released. */
  async finish({ seq, decision }: Dispatch, result: CallResult): Promise<boolean> {
    this.#sessionGrants.callAnswered(seq);
    return this.#recorder.durable({
      kind: "result",
      decision: seq,
      session: decision.session,
      call: decision.call,
      status: result.status,
      sha256: sha256(result.content),
      bytes: Buffer.byteLength(result.content),
      truncated: result.truncated,
      elapsed_ms: result.elapsedMs,
    });
  }

  /**
   * Records that brokerd has begun, and that what waited when an earlier one ended is gone: nobody can answer it any more. To be called
   * once, before anything else. Resolves to false where it couldn't be recorded.
   */
  async begin(version: string, configSha256: Hash32): Promise<boolean> {
    const { reserved } = this.#options.grants;
    const begun = this.#recorder.durable({ kind: "started", version, config_sha256: configSha256, head: this.head, reserved });
    const ended = this.states.openAsks.map((seq) => this.close(ApprovalId.parse(seq), "gone", BROKERD, "restart"));
    return (await Promise.all([begun, ...ended])).every((isRecorded) => isRecorded);
  }

  /** Records that brokerd ends by itself. */
  async end(): Promise<boolean> {
    return this.#recorder.durable({ kind: "stopped" });
  }

  /** What policy let through, unless brokerd can't take it on now. */
  #admit<V extends Verdict>(session: SessionId, verdict: V, turn: CallId | undefined): V | DeniedVerdict {
    if (verdict.kind === "denied") return verdict;
    const { tool } = verdict.kind === "ask" ? verdict.ask.request : verdict.decision.request;
    const reason = this.#options.admission.refusal(session, tool, verdict.kind === "ask" ? turn : undefined);
    return reason === undefined ? verdict : deny(verdict, reason);
  }

  #recordUnopened(request: CallRequest, verdict: DeniedVerdict): Promise<Decided> {
    return this.#recorder.step<Decided>(() => {
      const appended = this.#appendDecision(verdict);
      if (appended === undefined) return this.#denyUnrecordable(request, verdict.record);
      return { durable: appended.durable, outcome: { kind: "denied", reason: verdict.reason } };
    });
  }

  #record(request: CallRequest, verdict: Verdict, state: PolicyState): Promise<Decided> {
    return this.#recorder.step<Decided>(() => {
      if (this.states.session(request.session) === undefined) {
        const { label, origin, ceiling } = state;
        this.#options.admission.opened();
        this.#recorder.append({ kind: "session_opened", session: request.session, origin, ceiling, state: label, from: null });
      }
      const appended = this.#appendDecision(verdict);
      if (appended === undefined) return this.#denyUnrecordable(request, verdict.record);
      const { seq, durable } = appended;
      switch (verdict.kind) {
        case "denied":
          return { durable, outcome: { kind: "denied", reason: verdict.reason } };
        case "ask": {
          const release = this.#options.admission.reserve(request.session);
          return { durable, outcome: { kind: "ask", id: ApprovalId.parse(seq), ask: verdict.ask, release } };
        }
        case "allowed":
          this.#sessionGrants.settle(verdict.uses, seq);
          return { durable, outcome: this.#dispatch(seq, verdict.decision, "allowed") };
        default:
          return verdict satisfies never;
      }
    });
  }

  /** Undefined where the decision makes no record: too many labels below its mounts for one line. */
  #appendDecision(verdict: Verdict): { seq: AuditSeq; durable: Promise<void> } | undefined {
    const recorded = recordArguments(verdict.record.arguments);
    const { run, ...record } = verdict.record;
    const spends = verdict.kind === "allowed" ? verdict.uses : null;
    try {
      // In the order of the line, which then is known by its pattern.
      const event = { kind: "decision", ...record, arguments: recorded.arguments, spends, run } as const;
      return this.#recorder.append(event, recorded.blobs);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** A call whose whole input can't be on record doesn't run; that much can be recorded, and others aren't to suffer from it. */
  #denyUnrecordable(request: CallRequest, record: DecisionRecord): { durable: Promise<void>; outcome: Denied } {
    const { arguments: unread } = recordArguments({ form: "unread", text: request.argumentsText });
    const { durable } = this.#recorder.append({
      kind: "decision",
      ...record,
      arguments: unread,
      path_labels: [],
      uses_left: [],
      matched: [],
      outcome: "denied",
      reason: AUDIT_UNAVAILABLE.reason,
      raises: null,
      spends: null,
      run: null,
    });
    return { durable, outcome: AUDIT_UNAVAILABLE };
  }

  #recordApproval(
    id: ApprovalId,
    ask: Ask,
    verdict: Extract<Verdict, { kind: "allowed" | "denied" }>,
    who: Answerer,
    state: PolicyState,
  ): Promise<Answered> {
    const { grant, grant_sha256, run, now } = verdict.record;
    const answer = { answer: "approved", by: who.by, user: who.user, digest: ask.digest, now, before: state.label } as const;
    return this.#recorder.step<Answered>(() => {
      if (verdict.kind === "denied") {
        const denial = verdict.reason;
        const { durable } = this.#recorder.append(approvalEvent(id, { ...answer, outcome: "denied", denial, grant, grant_sha256 }));
        return { durable, outcome: { kind: "denied", reason: denial } };
      }
      const outcome = verdict.mode === "ask" ? "ask" : "allowed";
      const effect = { grant, grant_sha256, raises: verdict.decision.after, spends: verdict.uses, run };
      const { durable } = this.#recorder.append(approvalEvent(id, { ...answer, outcome, ...effect }));
      const seq = AuditSeq.parse(id);
      this.#sessionGrants.settle(verdict.uses, seq);
      return { durable, outcome: this.#dispatch(seq, verdict.decision, outcome) };
    });
  }

  #dispatch(seq: AuditSeq, decision: Decision, mode: "allowed" | "ask"): Dispatch {
    return { kind: "run", seq, decision, mode, release: this.#running.enter(reachOf(decision)) };
  }

  /** The grants as they are on disk, recorded where they have changed. `undefined` where that failed. */
  async #currentGrants(): Promise<GrantSet | undefined> {
    await this.#options.admission.look();
    try {
      const grants = await this.#grants.current();
      this.#options.onGrants(grants);
      return grants;
    } catch (error) {
      // A decision whose grants can't be kept couldn't be taken again from the log.
      this.#recorder.stop(error);
      return undefined;
    }
  }

  #knownState(session: SessionId): PolicyState | undefined {
    const known = this.states.session(session);
    return known === undefined ? undefined : this.#policyState(known);
  }

  #policyState({ label, origin, ceiling }: Pick<PolicyState, "label" | "origin" | "ceiling">): PolicyState {
    const { states } = this;
    return { label, origin, ceiling, usesSpent: (grant) => states.usesSpent(grant), pathLabels: states.pathLabels };
  }
}

function reachOf({ session, run: { mounts }, after }: Decision): BoxReach {
  return { session, mounts, after };
}
