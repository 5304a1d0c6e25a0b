/** admin.sock: the owner's questions and answers. Whoever reaches this socket is the owner. */

import type { Clock } from "@boxmaker/edge/log";
import { type AbsPath, AdminAnswer, type AdminRequest, type ErrorCode, type Timestamp, unreachable } from "@boxmaker/proto";
import type { ApprovalTable } from "../approvals/approval-table.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { AskEnd } from "../calls/tool-calls.ts";
import type { Events } from "../events.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { sessionReport } from "../ledger/session-report.ts";
import type { Connections } from "./connections.ts";
import { explainCall } from "./explain.ts";
import { holdGrant } from "./hold-grant.ts";
import type { ServedSocket } from "./serve-socket.ts";
import { type Watching, watchAsks } from "./watch-asks.ts";

export interface AdminSocketOptions {
  readonly path: AbsPath;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  readonly table: ApprovalTable<AskEnd>;
  readonly events: Events;
  readonly clock: Clock;
  readonly version: string;
  readonly started: Timestamp;
  /** On the monotonic clock. */
  readonly startedAt: number;
  /** Whether the log's disk is almost full. Never rejects. */
  readonly isLowOnSpace: () => Promise<boolean>;
  readonly connections: Pick<Connections, "size" | "ending">;
}

const OWNER = { by: "bxctl", user: null } as const;
/** Labels below a path that one answer shows, so that it fits its frame. */
const MAX_LABELS_BELOW = 1000;

function error(code: ErrorCode, detail: string): AdminAnswer {
  return { kind: "error", body: { code, detail } };
}

function watching({ table, connections }: AdminSocketOptions): Watching<AdminAnswer> {
  return {
    table,
    ending: connections.ending,
    tell: ({ id }, change) => ({ kind: "approval_event", body: { approval: id, change } }),
  };
}

type Simple = Exclude<AdminRequest, { kind: "watch" | "allow" }>;

export function adminSocket(options: AdminSocketOptions): ServedSocket<AdminRequest["kind"], AdminAnswer> {
  return {
    name: "admin",
    path: options.path,
    answers: AdminAnswer,
    kinds: [
      "approvals",
      "approval",
      "approve",
      "refuse",
      "check_grants",
      "explain",
      "session",
      "status",
      "watch",
      "allow",
      "open_rewound",
      "label_show",
      "label_reset",
    ],
    handle: async (request, send, gone) => {
      if (request.kind === "watch") await watchAsks<AdminAnswer>(watching(options), send, gone);
      else if (request.kind === "allow")
        await holdGrant(request.body, { ...options, ending: options.connections.ending }, send, gone);
      else await send(await answer(request, options), true);
    },
  };
}

async function answer(request: Simple, options: AdminSocketOptions): Promise<AdminAnswer> {
  const { ledger, approvals } = options;
  switch (request.kind) {
    case "approvals":
      return approvals.list();
    case "approval":
      return approvals.show(request.body.approval);
    case "approve":
      return approvals.approve(request.body.approval, request.body.digest, OWNER);
    case "refuse":
      return approvals.refuse(request.body.approval, request.body.reason, OWNER);
    case "check_grants": {
      const grants = await ledger.grants();
      return grants.kind === "valid"
        ? { kind: "grants_report", body: { grants: grants.grants.length, problems: [] } }
        : { kind: "grants_report", body: { grants: 0, problems: grants.problems } };
    }
    case "session": {
      const session = ledger.states.session(request.body.session);
      if (session === undefined)
        return error("no_such_session", "the audit log knows no session of this id; see docs/runbook.md#no-such-session");
      return sessionReport(request.body.session, session, ledger.owner.grantsOf(request.body.session));
    }
    case "open_rewound":
      return approvals.rewind(request.body);
    case "label_show":
      return labelReport(request.body.path, ledger);
    case "label_reset":
      return resetLabel(request.body.path, options);
    case "explain":
      return explainCall(request.body, ledger);
    case "status":
      return status(options);
    default:
      return unreachable(request);
  }
}

async function labelReport(path: AbsPath, ledger: Ledger): Promise<AdminAnswer> {
  const { at, above, below, owner } = await ledger.owner.labelsAround(path);
  const shown = below.slice(0, MAX_LABELS_BELOW);
  return { kind: "label_report", body: { path, label: at, above, below: shown, more: below.length - shown.length, owner } };
}

async function resetLabel(path: AbsPath, { ledger, events }: AdminSocketOptions): Promise<AdminAnswer> {
  const outcome = await ledger.owner.resetLabel(path);
  switch (outcome) {
    case "reset":
      events.labelReset(path);
      return { kind: "ok", body: {} };
    case "busy":
      return error("busy", "a box that may write there is running, try again when it has ended; see docs/runbook.md#label-in-use");
    case "unrecorded":
      return error(
        "internal",
        "the reset could not be recorded; the labels are what they were; see docs/runbook.md#audit-unavailable",
      );
    default:
      return unreachable(outcome);
  }
}

async function status(options: AdminSocketOptions): Promise<AdminAnswer> {
  const { ledger, table, version, started, startedAt, clock, events, connections } = options;
  const [grants, isLow] = await Promise.all([ledger.grants(), options.isLowOnSpace()]);
  return {
    kind: "status_report",
    body: {
      version,
      started,
      uptime_ms: Math.max(0, Math.floor(clock.monotonic() - startedAt)),
      head: ledger.head,
      pending: table.size,
      sessions: ledger.states.sessionCount,
      boxes: ledger.running,
      connections: connections.size,
      memory_bytes: process.memoryUsage.rss(),
      runtime: ledger.box.runtime,
      grants: grants.kind === "valid" ? grants.grants.length : 0,
      grants_valid: grants.kind === "valid",
      audit: ledger.stopped ? "stopped" : "open",
      low_space: isLow,
      ...events.activity,
    },
  };
}
