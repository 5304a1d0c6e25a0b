/** What must not compile: an id in the place of another, text that no parser has seen, a switch with a case missing. */
import {
  AbsPath,
  type ApprovalId,
  type ApproveOutcome,
  type AuditSeq,
  CallId,
  type DataClass,
  FetchUrl,
  Hash32,
  type Host,
  type HostPattern,
  hostOfUrl,
  type Label,
  matchesHost,
  SessionId,
  Timestamp,
  type TurnEvent,
  unreachable,
} from "../../src/index.ts";

/** Accepts a value of exactly the type that is named. */
function takes<T>(_value: T): void {}

export function idsDoNotMix(approval: ApprovalId, seq: AuditSeq, call: CallId): void {
  takes<CallId>(call);
  // An approval's id is the seq of its decision.
  takes<AuditSeq>(approval);
  takes<number>(call);
  // @ts-expect-error an approval is no call
  takes<CallId>(approval);
  // @ts-expect-error a call is no approval
  takes<ApprovalId>(call);
  // @ts-expect-error not every record of the log asks
  takes<ApprovalId>(seq);
  // @ts-expect-error a call is no place in the log
  takes<AuditSeq>(call);
  // @ts-expect-error a number is not yet a call
  takes<CallId>(7);
}

export function textIsNotParsed(session: SessionId, hash: Hash32, time: Timestamp, path: AbsPath, url: FetchUrl, host: Host): void {
  takes<string>(session);
  // @ts-expect-error text is no session
  takes<SessionId>("chat-1");
  // @ts-expect-error text is no hash
  takes<Hash32>("0".repeat(64));
  // @ts-expect-error text is no time
  takes<Timestamp>("2026-01-01T00:00:00.000Z");
  // @ts-expect-error text is no path
  takes<AbsPath>("/srv");
  // @ts-expect-error text is no URL
  takes<FetchUrl>("https://example.com/");
  // @ts-expect-error text is no host
  takes<Host>("example.com");
  // @ts-expect-error a session is no hash
  takes<Hash32>(session);
  // @ts-expect-error a hash is no session
  takes<SessionId>(hash);
  // @ts-expect-error a time is no session
  takes<SessionId>(time);
  // @ts-expect-error a path is no URL
  takes<FetchUrl>(path);
  // @ts-expect-error a URL is no host
  takes<Host>(url);
  // @ts-expect-error a host is no pattern: a pattern may stand for many
  takes<HostPattern>(host);
}

export function parsersGiveBrands(): void {
  takes<SessionId>(SessionId.parse("a"));
  takes<CallId>(CallId.parse(1));
  takes<AbsPath>(AbsPath.parse("/a"));
  takes<Timestamp>(Timestamp.parse("2026-01-01T00:00:00.000Z"));
  takes<Hash32>(Hash32.parse("0".repeat(64)));
  takes<Host>(hostOfUrl(FetchUrl.parse("https://a/")));
}

export function patternAndHostDoNotSwap(pattern: HostPattern, host: Host): boolean {
  // @ts-expect-error the pattern comes first
  return matchesHost(host, pattern) || matchesHost(pattern, host);
}

export function valuesAreReadonly(label: Label, event: TurnEvent): void {
  // @ts-expect-error a label only rises by joining
  label.taint = "secret";
  // @ts-expect-error what was parsed stays as it was
  event.event = "text";
}

export function everyCaseIsThere(outcome: ApproveOutcome["outcome"]): boolean {
  switch (outcome) {
    case "allowed":
    case "ask":
      return true;
    case "denied":
    case "changed":
      return false;
    default:
      return unreachable(outcome);
  }
}

export function oneCaseIsMissing(dataClass: DataClass): boolean {
  if (dataClass === "public") return true;
  if (dataClass === "private") return false;
  // @ts-expect-error secret isn't handled
  return unreachable(dataClass);
}
