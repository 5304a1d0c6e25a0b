/** What the commands that read the audit log have in common: where they read and write, and the flags that choose records. */
import { quoteText, SessionId, type Timestamp } from "@boxmaker/proto";
import type { Screen } from "../terminal/screen.ts";
import { readOwnerTime } from "../time/owner-time.ts";
import { RecordFilter } from "./record-filter.ts";

export interface AuditCommand {
  /** The audit directory. */
  readonly directory: string;
  readonly out: Screen;
  readonly err: Screen;
  readonly json: boolean;
}

/** Flags as they were typed. */
export interface FilterFlags {
  readonly session?: string | undefined;
  readonly tool?: string | undefined;
  readonly denied?: boolean | undefined;
  readonly since?: string | undefined;
}

export type Read<T> = { readonly kind: "ok"; readonly value: T } | { readonly kind: "usage"; readonly problem: string };

/** Reads a session's id as it was typed. */
export function readSession(text: string | undefined): Read<SessionId | undefined> {
  if (text === undefined) return { kind: "ok", value: undefined };
  const session = SessionId.safeParse(text);
  if (session.success) return { kind: "ok", value: session.data };
  return { kind: "usage", problem: `${quoteText(text)} is no session id: expected lower-case letters, digits and "-", at most 64` };
}

/** Reads `--since` as it was typed. */
export function readSince(text: string | undefined, now: number): Read<Timestamp | undefined> {
  if (text === undefined) return { kind: "ok", value: undefined };
  const reading = readOwnerTime(text, now, "back");
  return reading.kind === "time" ? { kind: "ok", value: reading.time } : { kind: "usage", problem: `--since: ${reading.problem}` };
}

/** A filter of these flags, or what is wrong with them in one printable line. */
export function readFilter({ session, tool, denied = false, since }: FilterFlags, now: number): Read<RecordFilter> {
  const id = readSession(session);
  if (id.kind === "usage") return id;
  const from = readSince(since, now);
  if (from.kind === "usage") return from;
  return { kind: "ok", value: new RecordFilter({ session: id.value, tool, denied, since: from.value }) };
}
