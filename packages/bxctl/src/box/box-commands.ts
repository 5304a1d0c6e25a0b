/** `bxctl grants check` and `sessions`: what brokerd and loopd say about what they have. */
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

/** Says why, and is the exit status of it. */
export function fail(err: Screen, problem: string): ExitStatus {
  err.line(`bxctl: ${problem}`);
  return 1;
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
