/** `explain`: what a call would come to and why, with nothing recorded, raised or run. */
import { randomUUID } from "node:crypto";
import { decide } from "@boxmaker/policy";
import { explain, explanationBody } from "@boxmaker/policy/analysis";
import {
  type AdminRequest,
  CallId,
  type Explanation,
  joinLabel,
  parseToolCall,
  SessionId,
  type ToolCall,
  ToolName,
  unreachable,
} from "@boxmaker/proto";
import type { Ledger } from "../ledger/ledger.ts";

type ExplainBody = Extract<AdminRequest, { kind: "explain" }>["body"];

/** An id that no session has and no grant names: a new session's state is looked up by it. */
function unusedSession(): SessionId {
  return SessionId.parse(`explain-${randomUUID()}`);
}

type Reading = { readonly kind: "ok"; readonly call: ToolCall } | { readonly kind: "unread"; readonly problem: string };

function readCall({ tool, arguments: text }: ExplainBody): Reading {
  const known = ToolName.safeParse(tool);
  if (!known.success) return { kind: "unread", problem: `unknown tool, expected one of ${ToolName.options.join(", ")}` };
  const parsed = parseToolCall(known.data, text);
  return parsed.kind === "ok" ? { kind: "ok", call: parsed.value } : { kind: "unread", problem: parsed.problem };
}

/** Explains a call in the session's state, or in the state that is asked about where that is higher. */
export async function explainCall(body: ExplainBody, ledger: Ledger): Promise<Explanation> {
  const session = body.session ?? unusedSession();
  const grants = await ledger.grants(body.session ?? undefined);
  const known = await ledger.policyState(session, "terminal");
  const state = body.state === null ? known : { ...known, label: joinLabel(known.label, body.state) };
  const about = { ...state, raisedBy: ledger.states.session(session)?.raisedBy ?? [] };
  const reading = readCall(body);
  if (reading.kind === "ok" && grants.kind === "valid") {
    const explanation = explain({ call: reading.call, session, set: grants, state, now: ledger.now() });
    return { kind: "explanation", body: explanationBody(explanation, about) };
  }
  const request = { session, call: CallId.parse(0), tool: body.tool, argumentsText: body.arguments };
  const verdict = decide(request, grants, state, ledger.now(), ledger.box);
  switch (verdict.kind) {
    case "denied":
      return {
        kind: "explanation",
        body: {
          ...explanationBody(NOTHING_SPEAKS, about),
          reason: verdict.reason,
          problem: reading.kind === "unread" ? reading.problem : null,
          before: state.label,
        },
      };
    case "ask":
    case "allowed":
      // No rule is asked about a call that can't be read or by grants that can't: policy denies both.
      throw new TypeError("expected a denial of what can't be judged");
    default:
      return unreachable(verdict);
  }
}

const NOTHING_SPEAKS = {
  outcome: "denied",
  reason: null,
  grant: null,
  label: null,
  before: { taint: "public", untrusted: false },
  after: null,
  pathLabels: [],
  approvers: [],
  matched: [],
  unmatched: [],
  otherwise: null,
  wouldPass: [],
} as const;
