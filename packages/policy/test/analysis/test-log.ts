/** Writes audit records as the ledger does, for the tests of what reads them: decisions by the real decide, folded into the next state. */
import {
  type AbsPath,
  ApprovalId,
  AuditRecord,
  AuditSeq,
  CallId,
  type DecisionEvent,
  Origin,
  SessionId,
  sha256,
  type ToolCall,
  timestampFromMillis,
  ZERO_HASH,
} from "@boxmaker/proto";
import { type ListedFile, LogFold, type LogSources } from "../../src/analysis/index.ts";
import { setFromTexts } from "../../src/grants/index.ts";
import { type Ask, decide, redecide, type Verdict } from "../../src/rules/decide.ts";
import type { ValidGrantSet } from "../../src/rules/grant-set.ts";

const BOX = { runtime: "podman", image: `sha256:${"a".repeat(64)}` } as const;
const START = Date.UTC(2026, 10, 1);

export class TestLog {
  readonly records: AuditRecord[] = [];
  readonly #fold = new LogFold();
  readonly #texts = new Map<string, string>();
  readonly #asks = new Map<AuditSeq, Ask>();

  /** Texts by hash, as `audit/grants` and `audit/blobs` keep them. */
  get sources(): LogSources {
    return {
      textOf: (sha256) => this.#texts.get(sha256),
      setOf: (files: readonly ListedFile[], reserved: readonly AbsPath[]) => {
        const given = files.flatMap(({ file, sha256 }) => {
          const text = this.#texts.get(sha256);
          return text === undefined ? [] : [{ file, text }];
        });
        return given.length === files.length ? setFromTexts(given, reserved) : undefined;
      },
    };
  }

  append(event: AuditRecord["event"]): AuditSeq {
    const seq = AuditSeq.parse(this.records.length + 1);
    const record = AuditRecord.parse({ seq, time: timestampFromMillis(START + seq * 1000), prev: ZERO_HASH, event });
    this.records.push(record);
    this.#fold.apply(record);
    return seq;
  }

  /** brokerd begins, where these places are the box's own. */
  start(...reserved: readonly AbsPath[]): void {
    this.append({ kind: "started", version: "0.1.0", config_sha256: ZERO_HASH, head: this.records.length, reserved });
  }

  /** These grants are in force from here on. */
  use(set: ValidGrantSet): void {
    for (const { sha256, text } of set.files) this.#texts.set(sha256, text);
    this.append({ kind: "grants_changed", files: set.files.map(({ file, sha256 }) => ({ file, sha256 })) });
  }

  /** The owner gives a session a grant of its own. */
  allow(id: string, grant: string, text: string): void {
    const hash = sha256(text);
    this.#texts.set(hash, text);
    this.append({ kind: "session_grant", session: SessionId.parse(id), grant, sha256: hash });
  }

  #setFor(session: SessionId): ValidGrantSet | undefined {
    const set = this.sources.setOf(this.#fold.filesFor(session), this.#fold.reserved);
    return set?.kind === "valid" ? set : undefined;
  }

  open(id: string, fields: { readonly origin?: Origin; readonly ceiling?: "public" | "private" | "secret" } = {}): void {
    const { origin = "terminal", ceiling = "secret" } = fields;
    const state = { taint: "public", untrusted: false } as const;
    this.append({ kind: "session_opened", session: SessionId.parse(id), origin: Origin.parse(origin), ceiling, state, from: null });
  }

  /** Decides a call of an opened session and records what the ledger would. */
  decide(id: string, { tool, arguments: given }: ToolCall): { readonly seq: AuditSeq; readonly verdict: Verdict } {
    const session = SessionId.parse(id);
    const known = this.#fold.session(session);
    const set = this.#setFor(session);
    if (known === undefined || set === undefined) throw new Error("expected an opened session and grants in force");
    const { origin, ceiling, label } = known;
    const now = timestampFromMillis(START + (this.records.length + 1) * 1000);
    const state = {
      label,
      origin,
      ceiling,
      usesSpent: (grant: string) => this.#fold.usesSpent(grant),
      pathLabels: this.#fold.pathLabels,
    };
    const request = { session, call: CallId.parse(this.records.length + 1), tool, argumentsText: JSON.stringify(given) };
    const verdict = decide(request, set, state, now, BOX);
    const spends = verdict.kind === "allowed" ? verdict.uses : null;
    const values: DecisionEvent["arguments"] = { form: "typed", values: given };
    const seq = this.append({ kind: "decision", ...verdict.record, arguments: values, spends });
    if (verdict.kind === "ask") this.#asks.set(seq, verdict.ask);
    return { seq, verdict };
  }

  /** The owner approves an ask that was recorded. */
  approve(seq: AuditSeq): void {
    const ask = this.#asks.get(seq);
    const known = ask === undefined ? undefined : this.#fold.session(ask.session);
    const set = ask === undefined ? undefined : this.#setFor(ask.session);
    if (ask === undefined || known === undefined || set === undefined) throw new Error("expected an ask that waits");
    const { origin, ceiling, label } = known;
    const now = timestampFromMillis(START + (this.records.length + 1) * 1000);
    const state = {
      label,
      origin,
      ceiling,
      usesSpent: (grant: string) => this.#fold.usesSpent(grant),
      pathLabels: this.#fold.pathLabels,
    };
    const verdict = redecide(ask, set, state, now, BOX);
    const isRun = verdict.kind === "allowed";
    this.append({
      kind: "approval",
      decision: ApprovalId.parse(seq),
      answer: "approved",
      by: "bxctl",
      user: null,
      reason: null,
      outcome: verdict.kind === "allowed" ? (verdict.mode === "ask" ? "ask" : "allowed") : verdict.kind,
      denial: verdict.kind === "denied" ? verdict.reason : null,
      digest: ask.digest,
      now,
      grant: isRun ? verdict.record.grant : null,
      grant_sha256: isRun ? verdict.record.grant_sha256 : null,
      before: label,
      raises: isRun ? verdict.decision.after : null,
      spends: isRun ? verdict.uses : null,
      run: isRun ? verdict.record.run : null,
    });
  }
}
