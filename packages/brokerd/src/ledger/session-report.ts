/** What is on record about one session, as its owner is told. */
import type { AdminAnswer, SessionId } from "@boxmaker/proto";
import type { SessionState } from "./session-states.ts";

type SessionReport = Extract<AdminAnswer, { kind: "session_report" }>;

/** @param grants those that the session has of its own */
export function sessionReport(session: SessionId, state: SessionState, grants: SessionReport["body"]["grants"]): SessionReport {
  const { origin, ceiling, label, from, raisedBy } = state;
  return { kind: "session_report", body: { session, origin, ceiling, state: label, from, raised_by: raisedBy, grants } };
}
