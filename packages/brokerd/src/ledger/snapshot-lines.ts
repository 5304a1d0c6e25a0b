/**
 * The saved state as text: one JSON value a line, the last of which says how many there are and what they hash to. Whatever isn't
 * exactly what was written is damage.
 */
import { hash } from "node:crypto";
import {
  AbsPath,
  AuditSeq,
  CallId,
  canonicalJson,
  DataClass,
  DecisionEvent,
  decodeUtf8,
  Hash32,
  Label,
  Origin,
  parseJson,
  RewindPoint,
  SafeInteger,
  SessionId,
} from "@boxmaker/proto";
import { z } from "zod";
import type { LogMark } from "../audit/audit-log.ts";
import { SessionStates, type StatesContents } from "./session-states.ts";

/** Goes up when the fold of the log comes to another state than before: what was saved by another one is of no use. */
const FORMAT = 2;

const Head = z
  .strictObject({
    line: z.literal("snapshot"),
    version: z.literal(FORMAT),
    seq: AuditSeq,
    head: Hash32,
    latest: SafeInteger,
    last_session_grant: SafeInteger,
  })
  .readonly();

const Raised = z.strictObject({ decision: AuditSeq, call: CallId, tool: z.string(), after: Label }).readonly();

const SessionLine = z
  .strictObject({
    line: z.literal("session"),
    session: SessionId,
    origin: Origin,
    ceiling: DataClass,
    label: Label,
    from: RewindPoint.nullable(),
    start: Label,
    steps: z.array(z.strictObject({ call: CallId, label: Label }).readonly()).readonly(),
    raised_by: z.array(Raised).readonly(),
    rewound_at: AuditSeq.nullable(),
    calls: z.strictObject({ highest: CallId.nullable(), missed: z.array(SafeInteger).readonly() }).readonly(),
  })
  .readonly();

const Line = z.discriminatedUnion("line", [
  SessionLine,
  z.strictObject({ line: z.literal("path"), path: AbsPath, label: Label }).readonly(),
  z.strictObject({ line: z.literal("uses"), grant: z.string(), spent: SafeInteger }).readonly(),
  z.strictObject({ line: z.literal("ask"), seq: AuditSeq, decision: DecisionEvent }).readonly(),
  z
    .strictObject({ line: z.literal("unfinished"), decision: AuditSeq, session: SessionId, call: CallId, tool: z.string() })
    .readonly(),
  z.strictObject({ line: z.literal("session_grant"), session: SessionId, grant: z.string(), sha256: Hash32 }).readonly(),
]);
type Line = z.infer<typeof Line>;

const End = z.strictObject({ line: z.literal("end"), lines: SafeInteger, sha256: Hash32 }).readonly();

/** What was saved, and the record it was saved behind. */
export interface Snapshot {
  readonly mark: LogMark;
  readonly states: SessionStates;
}

/** `problem` is a few printable words. */
export type SnapshotReading =
  | { readonly kind: "snapshot"; readonly snapshot: Snapshot }
  | { readonly kind: "damaged"; readonly problem: string };

function* itemLines(contents: StatesContents): Generator<Line> {
  for (const [session, state] of contents.sessions) {
    const { origin, ceiling, label, from, start, steps, raisedBy, rewoundAt, calls } = state;
    const kept = { origin, ceiling, label, from, start, steps, raised_by: raisedBy, rewound_at: rewoundAt, calls };
    yield { line: "session", session, ...kept };
  }
  for (const [path, label] of contents.paths) yield { line: "path", path, label };
  for (const [grant, spent] of contents.uses) yield { line: "uses", grant, spent };
  for (const [seq, decision] of contents.asks) yield { line: "ask", seq, decision };
  for (const call of contents.unfinished) yield { line: "unfinished", ...call };
  for (const given of contents.sessionGrants) yield { line: "session_grant", ...given };
}

/** The lines but the last one, each with its newline. Made one by one: the state may be large. */
export function* snapshotLines({ seq, head }: LogMark, contents: StatesContents): Generator<string> {
  const { latest, lastSessionGrant } = contents;
  yield `${canonicalJson({ line: "snapshot", version: FORMAT, seq, head, latest, last_session_grant: lastSessionGrant })}\n`;
  for (const line of itemLines(contents)) yield `${canonicalJson(line)}\n`;
}

/** The last line: over the `lines` lines before it, whose bytes hash to `sha256`. */
export function snapshotEnd(lines: number, sha256: Hash32): string {
  return `${canonicalJson({ line: "end", lines, sha256 })}\n`;
}

function damaged(problem: string): SnapshotReading {
  return { kind: "damaged", problem };
}

/** Reads what was written. */
export function readSnapshot(bytes: Buffer): SnapshotReading {
  const text = decodeUtf8(bytes);
  if (text === undefined) return damaged("it is not UTF-8");
  const body = text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);
  const end = parseJson(End, text.slice(body.length, -1));
  if (!text.endsWith("\n") || end.kind === "invalid") return damaged("it has no end");
  const [first = "", ...items] = body.split("\n").slice(0, -1);
  if (end.value.lines !== items.length + 1) return damaged("lines are missing");
  if (end.value.sha256 !== hash("sha256", body, "hex")) return damaged("it isn't what was written");
  // Its own hash says that nothing was changed by accident; what was written by another version is still not read.
  const head = parseJson(Head, first);
  if (head.kind === "invalid") return damaged(`line 1: ${head.problem}`);
  const { seq, head: marked, latest, last_session_grant: lastSessionGrant } = head.value;
  const contents = new Contents(latest, lastSessionGrant);
  for (const [index, item] of items.entries()) {
    const line = parseJson(Line, item);
    if (line.kind === "invalid") return damaged(`line ${index + 2}: ${line.problem}`);
    contents.add(line.value);
  }
  return { kind: "snapshot", snapshot: { mark: { seq, head: marked }, states: SessionStates.restore(contents) } };
}

class Contents implements StatesContents {
  readonly latest: number;
  readonly lastSessionGrant: number;
  readonly sessions: [SessionId, StatesContents["sessions"][number][1]][] = [];
  readonly paths: [AbsPath, Label][] = [];
  readonly uses: [string, number][] = [];
  readonly asks: [AuditSeq, DecisionEvent][] = [];
  readonly unfinished: StatesContents["unfinished"][number][] = [];
  readonly sessionGrants: StatesContents["sessionGrants"][number][] = [];

  constructor(latest: number, lastSessionGrant: number) {
    this.latest = latest;
    this.lastSessionGrant = lastSessionGrant;
  }

  add(item: Line): void {
    switch (item.line) {
      case "session": {
        const { line: _, session, raised_by: raisedBy, rewound_at: rewoundAt, ...state } = item;
        this.sessions.push([session, { ...state, raisedBy, rewoundAt }]);
        return;
      }
      case "path":
        this.paths.push([item.path, item.label]);
        return;
      case "uses":
        this.uses.push([item.grant, item.spent]);
        return;
      case "ask":
        this.asks.push([item.seq, item.decision]);
        return;
      case "unfinished": {
        const { decision, session, call, tool } = item;
        this.unfinished.push({ decision, session, call, tool });
        return;
      }
      case "session_grant": {
        const { session, grant, sha256 } = item;
        this.sessionGrants.push({ session, grant, sha256 });
        return;
      }
      default:
        item satisfies never;
    }
  }
}
