/** Calls of the log that the owner might want a grant for: those that no grant spoke about, and those they approved again and again. */
import {
  type AuditRecord,
  type AuditSeq,
  type DecisionEvent,
  hostOfUrl,
  type Label,
  millisFromTimestamp,
  type Timestamp,
  type ToolCall,
  unreachable,
} from "@boxmaker/proto";
import { recordedCall, type TextOf } from "./recorded-call.ts";

/** One such call, with the state in which it was decided. */
export interface WantedCall {
  readonly seq: AuditSeq;
  readonly call: ToolCall;
  readonly before: Label;
  /** The label of its results; null where no grant spoke about it. */
  readonly label: Label | null;
  readonly event: DecisionEvent;
}

/** Calls of one tool at one place. `place`: a folder, or a host. */
export interface WantedPlace {
  readonly why: "denied" | "approved";
  readonly place: string;
  readonly calls: readonly WantedCall[];
}

/** The folder or host that a grant for the call would name; `undefined` where it would have to name the root, or the call names no place. */
function placeOf(call: ToolCall): string | undefined {
  switch (call.tool) {
    case "read_file":
    case "write_file":
      return call.arguments.path.slice(0, call.arguments.path.lastIndexOf("/")) || undefined;
    case "shell":
      return call.arguments.cwd;
    case "http_fetch":
      return hostOfUrl(call.arguments.url);
    default:
      return unreachable(call);
  }
}

export interface WantedOptions {
  readonly since?: Timestamp;
  /** From how many approvals on a place is reported. */
  readonly repeated: number;
}

/** Groups them by tool and place. Denials of every kind but `no_grant` are a decision of the owner's, which nothing is suggested against. */
export function findWanted(
  records: Iterable<AuditRecord>,
  textOf: TextOf,
  { since, repeated }: WantedOptions,
): readonly WantedPlace[] {
  const from = since === undefined ? 0 : millisFromTimestamp(since);
  const asks = new Map<number, { readonly seq: AuditSeq; readonly event: DecisionEvent }>();
  const places = new Map<string, { why: WantedPlace["why"]; place: string; calls: WantedCall[] }>();
  const add = (why: WantedPlace["why"], seq: AuditSeq, event: DecisionEvent): void => {
    const call = recordedCall(event, textOf);
    const place = call === undefined ? undefined : placeOf(call);
    if (call === undefined || place === undefined) return;
    const key = `${why}\0${call.tool}\0${place}`;
    const known = places.get(key) ?? { why, place, calls: [] };
    known.calls.push({ seq, call, before: event.before, label: event.label, event });
    places.set(key, known);
  };
  for (const { seq, time, event } of records) {
    if (millisFromTimestamp(time) < from) continue;
    if (event.kind === "decision" && event.outcome === "ask") asks.set(seq, { seq, event });
    if (event.kind === "decision" && event.reason === "no_grant") add("denied", seq, event);
    const asked = event.kind === "approval" && event.answer === "approved" ? asks.get(event.decision) : undefined;
    if (asked !== undefined) add("approved", asked.seq, asked.event);
  }
  return [...places.values()].filter(({ why, calls }) => why === "denied" || calls.length >= repeated);
}
