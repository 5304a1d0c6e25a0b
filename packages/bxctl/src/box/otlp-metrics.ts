/**
 * brokerd's status as metrics in the shape of OpenTelemetry: the JSON encoding of OTLP's ExportMetricsServiceRequest. Whoever collects
 * metrics runs bxctl and posts its line; no role opens a port or dials a collector.
 */
import { millisFromTimestamp, type StatusReport } from "@boxmaker/proto";

type Report = StatusReport["body"];

/** `asInt` and the times are texts: OTLP writes 64-bit integers so. */
interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
  readonly asInt: string;
}

/** Since the start, not since the last look: enums are numbers in OTLP's JSON. */
const CUMULATIVE = 2;

function nanoseconds(milliseconds: number): string {
  return String(BigInt(milliseconds) * 1_000_000n);
}

function attributes(texts: Readonly<Record<string, string>>): Point["attributes"] {
  return Object.entries(texts).map(([key, text]) => ({ key, value: { stringValue: text } }));
}

/** One ExportMetricsServiceRequest. Its moment is the one that the report speaks of. */
export function otlpMetrics(report: Report): object {
  const started = millisFromTimestamp(report.started);
  const [startTimeUnixNano, timeUnixNano] = [nanoseconds(started), nanoseconds(started + report.uptime_ms)];
  const point = (value: number, texts: Readonly<Record<string, string>> = {}): Point => ({
    attributes: attributes(texts),
    startTimeUnixNano,
    timeUnixNano,
    asInt: String(value),
  });
  const gauge = (name: string, unit: string, description: string, value: number): object => ({
    name,
    unit,
    description,
    gauge: { dataPoints: [point(value)] },
  });
  const sum = (name: string, unit: string, description: string, dataPoints: readonly Point[], isMonotonic: boolean): object => ({
    name,
    unit,
    description,
    sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic },
  });
  const { calls } = report;
  const answered = [
    point(calls.results, { "boxmaker.call.outcome": "result" }),
    point(calls.failed, { "boxmaker.call.outcome": "failed" }),
    ...calls.denied.map(({ reason, count }) =>
      point(count, { "boxmaker.call.outcome": "denied", "boxmaker.denial.reason": reason }),
    ),
  ];
  const metrics = [
    sum("boxmaker.calls", "{call}", "tool calls that were answered", answered, true),
    sum("boxmaker.errors", "{error}", "errors that were logged", [point(report.errors)], true),
    gauge("boxmaker.approvals.pending", "{approval}", "calls that wait for the owner", report.pending),
    gauge("boxmaker.boxes.running", "{box}", "tools that run", report.boxes),
    gauge("boxmaker.sessions", "{session}", "sessions that the log knows", report.sessions),
    gauge("boxmaker.connections", "{connection}", "open connections", report.connections),
    gauge("boxmaker.audit.records", "{record}", "records of the audit log", report.head),
    gauge("boxmaker.audit.open", "1", "1 while the audit log can be written", report.audit === "open" ? 1 : 0),
    gauge("boxmaker.audit.low_space", "1", "1 while the log's disk is almost full", report.low_space ? 1 : 0),
    gauge("boxmaker.grants", "{grant}", "grants in force", report.grants),
    gauge("boxmaker.grants.valid", "1", "1 while the grants can be read", report.grants_valid ? 1 : 0),
    gauge("process.uptime", "s", "since the start", Math.floor(report.uptime_ms / 1000)),
    sum("process.memory.usage", "By", "resident memory", [point(report.memory_bytes)], false),
  ];
  const resource = attributes({ "service.name": "boxmaker-brokerd", "service.version": report.version });
  const scope = { name: "boxmaker", version: report.version };
  return { resourceMetrics: [{ resource: { attributes: resource }, scopeMetrics: [{ scope, metrics }] }] };
}
