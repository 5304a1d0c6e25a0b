/** `bxctl status`, `grants check` and `sessions`: what brokerd and loopd say about themselves. */
import { escapeText } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import type { Screen } from "../terminal/screen.ts";
import { askAdmin } from "./ask-admin.ts";
import { askSessions } from "./ask-loop.ts";
import type { Places } from "./places.ts";

/** Where a command asks and writes. */
export interface BoxCommand {
  readonly places: Places;
  readonly out: Screen;
  readonly err: Screen;
  readonly json: boolean;
}

function fail(err: Screen, problem: string): ExitStatus {
  err.line(`bxctl: ${problem}`);
  return 1;
}

/** brokerd's state and whether loopd answers: 1 where either doesn't, or nothing could run. */
export async function showStatus({ places, out, err, json }: BoxCommand): Promise<ExitStatus> {
  const [broker, loop] = await Promise.all([
    askAdmin(places.adminSocket, { kind: "status", body: {} }, "status_report"),
    askSessions(places.loopSocket),
  ]);
  if (broker.kind === "answer" && !json) {
    const { version, started, head, pending, runtime, grants, grants_valid: valid, audit } = broker.body;
    out.line(`brokerd   ${escapeText(version)}, since ${started}, runtime ${runtime}`);
    out.line(`grants    ${valid ? `${grants} in force` : "invalid: every call is denied; see docs/runbook.md#grants-invalid"}`);
    out.line(
      `audit     ${audit === "open" ? `open, ${head} records` : "stopped: every call is denied; see docs/runbook.md#audit-unavailable"}`,
    );
    out.line(`approvals ${pending === 0 ? "none waiting" : `${pending} waiting: bxctl approvals${places.adminFlags}`}`);
  }
  if (loop.kind === "sessions" && !json) {
    const busy = loop.sessions.filter((session) => session.busy).length;
    out.line(`loopd     ${loop.sessions.length} ${loop.sessions.length === 1 ? "session" : "sessions"}, ${busy} in a turn`);
  }
  if (json) {
    const sessions = loop.kind === "sessions" ? loop.sessions.length : null;
    out.raw(jsonLine({ brokerd: broker.kind === "answer" ? broker.body : null, loopd: sessions === null ? null : { sessions } }));
  }
  if (broker.kind !== "answer") fail(err, broker.problem);
  if (loop.kind === "failed") fail(err, loop.problem);
  if (broker.kind !== "answer" || loop.kind === "failed") return 1;
  return broker.body.grants_valid && broker.body.audit === "open" ? 0 : 1;
}

/** Whether brokerd can use the grants as they are on disk now; every fault with its place. */
export async function checkGrants({ places, out, err, json }: BoxCommand): Promise<ExitStatus> {
  const reply = await askAdmin(places.adminSocket, { kind: "check_grants", body: {} }, "grants_report");
  if (reply.kind !== "answer") return fail(err, reply.problem);
  const { grants, problems } = reply.body;
  if (json) out.raw(jsonLine(reply.body));
  else if (problems.length === 0) out.line(`grants: ok, ${grants} ${grants === 1 ? "grant" : "grants"}`);
  for (const { file, line, problem } of json ? [] : problems) {
    out.line(`${escapeText(file)}${line === 0 ? "" : `:${line}`}: ${escapeText(problem)}`);
  }
  if (problems.length === 0) return 0;
  const count = `${problems.length} ${problems.length === 1 ? "fault" : "faults"}`;
  return fail(err, `grants: ${count}: every call is denied until the files are right; see docs/runbook.md#grants-invalid`);
}

/** The conversations, the last used one last. */
export async function listSessions({ places, out, err, json }: BoxCommand): Promise<ExitStatus> {
  const reply = await askSessions(places.loopSocket);
  if (reply.kind === "failed") return fail(err, reply.problem);
  const sessions = reply.sessions.toSorted((a, b) => (a.updated < b.updated ? -1 : a.updated > b.updated ? 1 : 0));
  if (json) {
    out.raw(jsonLine(sessions));
    return 0;
  }
  if (sessions.length === 0) out.line("no session yet");
  for (const { session, turns, busy, updated } of sessions) {
    out.line(`${updated}  ${session}  ${turns} ${turns === 1 ? "turn" : "turns"}${busy ? ", in a turn now" : ""}`);
  }
  return 0;
}
