/** What brokerd has told its clients, held against what its log says and against what its boxes have done. */
import { readdirSync } from "node:fs";
import {
  type ApprovalAuditEvent,
  type AuditRecord,
  type DecisionEvent,
  type Hash32,
  sha256,
  type ToolOutcome,
} from "@boxmaker/proto";

/** An answer that a client has had. */
export type Acknowledged =
  | { readonly kind: "outcome"; readonly key: string; readonly outcome: ToolOutcome }
  | { readonly kind: "pending"; readonly key: string; readonly approval: number }
  | { readonly kind: "answered"; readonly approval: number; readonly answer: "approved" | "refused" };

/** The content that says that there is none: its record couldn't be written, which a kill never causes by itself. */
const NOT_RECORDED = "The result could not be recorded, so it is not released.";

/** A call by its session and number. */
export function keyOf(session: string, call: number): string {
  return `${session}-${call}`;
}

export class AcknowledgedCheck {
  /** Told and not on record. */
  readonly lost: string[] = [];
  /** Done by a box and not on record. */
  readonly unrecorded: string[] = [];
  /** Whatever else the log says that can't be. */
  readonly unsound: string[] = [];
  actions = 0;
  readonly #acts: readonly string[];
  readonly #decisions = new Map<string, { readonly seq: number; readonly event: DecisionEvent }>();
  readonly #ends = new Map<number, ApprovalAuditEvent>();
  readonly #results = new Map<number, Hash32>();
  readonly #open = new Set<number>();
  readonly #seen = new Set<string>();

  /** @param acts folders in which each call that runs leaves a file of its own */
  constructor(acts: readonly string[]) {
    this.#acts = acts;
  }

  /** Takes in what the log says more. */
  read(records: readonly AuditRecord[]): void {
    for (const { seq, event } of records) {
      if (event.kind === "decision") {
        const key = keyOf(event.session, event.call);
        if (this.#decisions.has(key)) this.unsound.push(`${key} is decided twice`);
        this.#decisions.set(key, { seq, event });
        if (event.outcome === "ask") this.#open.add(seq);
      }
      if (event.kind === "approval") {
        const id = Number(event.decision);
        if (this.#ends.has(id)) this.unsound.push(`ask ${id} ends twice`);
        this.#ends.set(id, event);
        this.#open.delete(id);
      }
      if (event.kind === "result") this.#results.set(Number(event.decision), event.sha256);
    }
  }

  /** To be called when brokerd has started again: nothing of the life before may wait. */
  started(): void {
    for (const id of this.#open) this.unsound.push(`ask ${id} waits after a start`);
  }

  /** What was told must be on record. */
  check(told: readonly Acknowledged[]): void {
    for (const one of told) {
      const problem = this.#problemOf(one);
      if (problem !== undefined) this.lost.push(`${JSON.stringify(one)}: ${problem}`);
    }
  }

  /** What boxes have done must be on record. */
  checkActions(): void {
    for (const name of this.#acts.flatMap((folder) => readdirSync(folder))) {
      // A write that was cut off leaves its temporary file.
      const key = /^(?<key>s-[0-9]+-[0-9]+)$/u.exec(name)?.groups?.["key"];
      if (key === undefined || this.#seen.has(key)) continue;
      this.#seen.add(key);
      this.actions++;
      const decision = this.#decisions.get(key);
      const runs = decision?.event.outcome === "allowed" || this.#ends.get(decision?.seq ?? 0)?.outcome === "ask";
      if (!runs) this.unrecorded.push(key);
    }
  }

  #problemOf(one: Acknowledged): string | undefined {
    if (one.kind === "answered") {
      const answer = this.#ends.get(one.approval)?.answer;
      return answer === one.answer ? undefined : `the log says ${answer}`;
    }
    const decision = this.#decisions.get(one.key);
    if (decision === undefined) return "no decision";
    const { seq, event } = decision;
    if (one.kind === "pending") return event.outcome === "ask" && seq === one.approval ? undefined : "another decision";
    const { outcome } = one;
    const end = this.#ends.get(seq);
    switch (outcome.outcome) {
      case "denied": {
        const reason = event.outcome === "ask" ? (end?.denial ?? end?.answer) : event.reason;
        const isSaid = reason === outcome.reason || `approval_${reason}` === outcome.reason;
        return isSaid ? undefined : `the log says ${reason}`;
      }
      case "failed":
      case "result": {
        const text = outcome.outcome === "failed" ? outcome.message : outcome.content;
        if (text === NOT_RECORDED) return undefined;
        if (event.outcome !== "allowed" && end?.outcome !== "ask") return "not let run";
        return this.#results.get(seq) === sha256(text) ? undefined : "no such result";
      }
      default:
        return outcome satisfies never;
    }
  }
}
