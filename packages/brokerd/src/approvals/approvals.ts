/** What an approver may do with the asks that wait: list, look, approve, refuse. */

import type { Ask } from "@boxmaker/policy";
import {
  type AdminAnswer,
  type AdminRequest,
  type ApprovalId,
  type AskBlock,
  canonicalJson,
  type ErrorCode,
  type ErrorMessage,
  type Hash32,
  timestampFromMillis,
  unreachable,
} from "@boxmaker/proto";
import type { AskEnd } from "../calls/tool-calls.ts";
import type { Events } from "../events.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Answerer } from "../ledger/outcomes.ts";
import { sessionReport } from "../ledger/session-report.ts";
import type { ApprovalTable, PendingAsk } from "./approval-table.ts";

/** The whole of an ask, as it is shown and digested. */
export function askBlock(id: ApprovalId, ask: Ask): AskBlock {
  return {
    approval: id,
    session: ask.session,
    call: ask.call,
    request: ask.request,
    grant: ask.grant,
    grant_file: ask.grantFile,
    grant_sha256: ask.grantSha256,
    run: ask.run,
    label: ask.label,
    before: ask.before,
    after: ask.after,
  };
}

const OWNER = { by: "bxctl", user: null } as const;

/** Who may answer, as the socket says that it came in on. */
export type Approver = Answerer & { readonly by: "bxctl" | "gateway" };

/** What both of the sockets of approvers may be answered. */
export type ApproverAnswer = Extract<AdminAnswer, { kind: "approval_list" | "approval_block" | "approve_result" | "ok" | "error" }>;

function error(code: ErrorCode, detail: string): ErrorMessage {
  return { kind: "error", body: { code, detail } };
}

const NOT_AN_APPROVER = error("forbidden", "the grant doesn't let this approver answer; see docs/runbook.md#not-an-approver");
const NO_SUCH_APPROVAL = error(
  "no_such_approval",
  "no call waits for an approval of this number; see docs/runbook.md#no-such-approval",
);

export class Approvals {
  readonly #ledger: Ledger;
  readonly #table: ApprovalTable<AskEnd>;
  readonly #events: Events;

  constructor(ledger: Ledger, table: ApprovalTable<AskEnd>, events: Events) {
    this.#ledger = ledger;
    this.#table = table;
    this.#events = events;
  }

  /** @param seenBy whose asks alone are listed; all of them unless given */
  list(seenBy?: Approver["by"]): ApproverAnswer {
    const seen = this.#table.list().filter(({ ask }) => seenBy === undefined || ask.approvers.includes(seenBy));
    const approvals = seen.map(({ id, session, ask, expiresAt }) => ({
      approval: id,
      session,
      tool: ask.request.tool,
      bytes: Buffer.byteLength(canonicalJson(ask.request.arguments)),
      expires: timestampFromMillis(expiresAt),
    }));
    return { kind: "approval_list", body: { approvals } };
  }

  /** @param seenBy who has to be let answer it; anybody unless given */
  show(id: ApprovalId, seenBy?: Approver["by"]): ApproverAnswer {
    const entry = this.#table.get(id);
    if (entry === undefined) return NO_SUCH_APPROVAL;
    if (seenBy !== undefined && !entry.ask.approvers.includes(seenBy)) return NOT_AN_APPROVER;
    const { ask, expiresAt } = entry;
    return {
      kind: "approval_block",
      body: { ask: askBlock(id, ask), digest: ask.digest, expires: timestampFromMillis(expiresAt) },
    };
  }

  /** Approves what was shown under `digest`. The decision is taken again now; what would have another effect now doesn't run. */
  async approve(id: ApprovalId, digest: Hash32, who: Approver): Promise<ApproverAnswer> {
    const shown = this.#table.get(id);
    if (shown === undefined) return NO_SUCH_APPROVAL;
    if (!shown.ask.approvers.includes(who.by)) return NOT_AN_APPROVER;
    if (shown.ask.digest !== digest) return { kind: "approve_result", body: { outcome: "changed" } };

    let taken: PendingAsk<AskEnd> | undefined;
    const waiting = (): Ask | undefined => {
      const ask = this.#table.get(id)?.ask;
      // Replaced meanwhile: what was shown isn't what would be approved, or isn't this approver's to answer any more.
      return ask?.digest === digest && ask.approvers.includes(who.by) ? ask : undefined;
    };
    const take = (): boolean => {
      taken = this.#table.take(id, "approved");
      return taken !== undefined;
    };
    const answered = await this.#ledger.approve(id, waiting, take, who);
    switch (answered.kind) {
      case "run":
        this.#events.approvalEnded(id, "approved", who.by);
        taken?.resolve(answered);
        return { kind: "approve_result", body: { outcome: answered.mode } };
      case "denied":
        // A ledger that stopped before the entry was taken leaves it to those who end what can't be answered any more.
        if (taken !== undefined) this.#events.approvalEnded(id, "approved", who.by);
        taken?.resolve(answered);
        return { kind: "approve_result", body: { outcome: "denied", reason: answered.reason } };
      case "changed":
        this.#table.replace(id, answered.ask);
        this.#events.approvalChanged(id);
        return { kind: "approve_result", body: { outcome: "changed" } };
      case "taken":
        return this.#table.get(id) === undefined ? NO_SUCH_APPROVAL : { kind: "approve_result", body: { outcome: "changed" } };
      default:
        return unreachable(answered);
    }
  }

  /**
   * Refuses whatever the call is now, or only what was shown under `digest`. Says `ok` only where the refusal is on record; what was refused
   * is denied in any case.
   */
  async refuse(id: ApprovalId, reason: string | null, who: Approver, digest?: Hash32): Promise<ApproverAnswer> {
    const shown = this.#table.get(id);
    if (shown === undefined) return NO_SUCH_APPROVAL;
    if (!shown.ask.approvers.includes(who.by)) return NOT_AN_APPROVER;
    if (digest !== undefined && shown.ask.digest !== digest) return { kind: "approve_result", body: { outcome: "changed" } };
    const entry = this.#table.take(id, "refused");
    if (entry === undefined) return NO_SUCH_APPROVAL;
    const recorded = await this.#ledger.close(id, "refused", who, reason);
    this.#events.approvalEnded(id, "refused", who.by);
    entry.resolve({ kind: "denied", reason: recorded ? "approval_refused" : "audit_unavailable" });
    if (recorded) return { kind: "ok", body: {} };
    return error("internal", "the refusal could not be recorded; the call is denied; see docs/runbook.md#audit-unavailable");
  }

  /**
   * Opens a session with the state that another one had after a call. What waits in the other one ends: whoever gave up what followed
   * doesn't want it any more.
   */
  async rewind(body: Extract<AdminRequest, { kind: "open_rewound" }>["body"]): Promise<AdminAnswer> {
    const ended: PendingAsk<AskEnd>[] = [];
    const take = (): void => {
      for (const id of this.#table.ids) {
        if (this.#table.sessionOf(id) !== body.session) continue;
        const entry = this.#table.take(id, "gone");
        if (entry !== undefined) ended.push(entry);
      }
    };
    const rewound = await this.#ledger.owner.openRewound(body, take);
    for (const { id, resolve } of ended) {
      const recorded = await this.#ledger.close(id, "gone", OWNER, "rewound");
      this.#events.approvalEnded(id, "gone", OWNER.by);
      resolve({ kind: "denied", reason: recorded ? "approval_refused" : "audit_unavailable" });
    }
    switch (rewound.kind) {
      case "opened":
        return sessionReport(body.to, rewound.state, []);
      case "exists":
        return error("session_exists", "the audit log knows a session of this id already; choose another id");
      case "unrecorded":
        return error(
          "internal",
          "the new session could not be recorded; nothing was rewound; see docs/runbook.md#audit-unavailable",
        );
      default:
        return unreachable(rewound);
    }
  }
}
