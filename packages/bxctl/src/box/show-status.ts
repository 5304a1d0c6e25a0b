/** `bxctl status`: what brokerd and loopd say about themselves, for the owner, a script, or a collector of metrics. */
import { escapeText, type StatusReport } from "@boxmaker/proto";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { askAdmin } from "./ask-admin.ts";
import { askSessions } from "./ask-loop.ts";
import { type BoxCommand, fail } from "./box-commands.ts";
import { otlpMetrics } from "./otlp-metrics.ts";

const MIB = 1024 * 1024;
const SPANS = [
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "min", ms: 60_000 },
  { unit: "s", ms: 1000 },
] as const;

/** `3 d 4 h`: the two largest units. */
function phraseSpan(ms: number): string {
  const first = SPANS.findIndex((span) => ms >= span.ms);
  if (first === -1) return "0 s";
  let left = ms;
  const parts = SPANS.slice(first, first + 2).map(({ unit, ms: size }) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? "" : `${count} ${unit}`;
  });
  return parts.filter((part) => part !== "").join(" ");
}

function count(number: number, one: string, more: string): string {
  return `${number} ${number === 1 ? one : more}`;
}

function phraseCalls({ results, failed, denied }: StatusReport["body"]["calls"]): string {
  const total = denied.reduce((sum, { count: number }) => sum + number, 0);
  const reasons = denied.toSorted((a, b) => b.count - a.count).map(({ reason, count: number }) => `${number} ${reason}`);
  return `${results} done, ${failed} failed, ${total} denied${total === 0 ? "" : ` (${reasons.join(", ")})`}`;
}

function statusLines(report: StatusReport["body"], adminFlags: string): readonly string[] {
  const { version, started, head, pending, runtime, grants, audit, last_error: last } = report;
  const { boxes, connections, sessions } = report;
  const memory = `${Math.round(report.memory_bytes / MIB)} MiB`;
  return [
    `brokerd   ${escapeText(version)}, since ${started} (${phraseSpan(report.uptime_ms)}), runtime ${runtime}`,
    `grants    ${report.grants_valid ? `${grants} in force` : "invalid: every call is denied; see docs/runbook.md#grants-invalid"}`,
    `audit     ${audit === "open" ? `open, ${head} records` : "stopped: every call is denied; see docs/runbook.md#audit-unavailable"}`,
    ...(report.low_space
      ? ["disk      almost full: what changes or sends something is denied; see docs/runbook.md#low-space"]
      : []),
    `approvals ${pending === 0 ? "none waiting" : `${pending} waiting: bxctl approvals${adminFlags}`}`,
    `calls     ${phraseCalls(report.calls)}`,
    `now       ${count(boxes, "box runs", "boxes run")}, ${count(connections, "connection", "connections")}, ${count(sessions, "session", "sessions")} on record, ${memory}`,
    ...(last === null
      ? []
      : [`error     ${last.time} ${escapeText(last.event)}: ${escapeText(last.detail)} (${report.errors} since the start)`]),
  ];
}

/** brokerd's metrics as one line of OTLP's JSON. */
export async function showMetrics({ places, out, err }: Omit<BoxCommand, "json">): Promise<ExitStatus> {
  const reply = await askAdmin(places.adminSocket, { kind: "status", body: {} }, "status_report");
  if (reply.kind !== "answer") return fail(err, reply.problem);
  out.raw(jsonLine(otlpMetrics(reply.body)));
  return 0;
}

/** brokerd's state and whether loopd answers: 1 where either doesn't, or nothing could run. */
export async function showStatus({ places, out, err, json }: BoxCommand): Promise<ExitStatus> {
  const [broker, loop] = await Promise.all([
    askAdmin(places.adminSocket, { kind: "status", body: {} }, "status_report"),
    askSessions(places.loopSocket),
  ]);
  if (broker.kind === "answer" && !json) for (const line of statusLines(broker.body, places.adminFlags)) out.line(line);
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
