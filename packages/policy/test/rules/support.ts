/** Grants, states and calls for the tests of policy, with only what a test is about written out. */
import {
  AbsPath,
  CallId,
  type DataClass,
  type PathLabel,
  SessionId,
  sha256,
  type Timestamp,
  timestampFromMillis,
} from "@boxmaker/proto";
import { type BoxKind, type CallRequest, decide, type PolicyState, type Verdict } from "../../src/rules/decide.ts";
import { completeGrant, GrantFile, type LoadedGrant } from "../../src/rules/grant.ts";
import type { ValidGrantSet } from "../../src/rules/grant-set.ts";

export const SESSION = SessionId.parse("chat-1");
export const BOX: BoxKind = { runtime: "podman", image: `sha256:${"a".repeat(64)}` };
export const NOW = timestampFromMillis(Date.UTC(2026, 10, 1));
export const LATER = "2027-01-01T00:00:00Z";
export const EARLIER = "2026-01-01T00:00:00Z";

export interface GrantFields {
  readonly id?: string;
  readonly tool?: string;
  readonly mode?: string;
  readonly max_taint?: string;
  readonly if_untrusted?: string;
  readonly label?: string;
  readonly untrusted?: boolean;
  readonly expires?: string;
  readonly uses?: number;
  readonly session?: string;
  readonly origins?: readonly string[];
  readonly approvers?: readonly string[];
  readonly host_exec?: boolean;
  readonly paths?: readonly string[];
  readonly hosts?: readonly string[];
  readonly args?: Readonly<Record<string, unknown>>;
}

/** A loaded grant: read_file, auto, of `/srv/notes` unless said otherwise. Its hash is that of its fields. */
export function grant(fields: GrantFields = {}, file?: string): LoadedGrant {
  const { paths, hosts, args, expires, ...rest } = fields;
  const tool = fields.tool ?? "read_file";
  const text = JSON.stringify(fields);
  const places = tool === "http_fetch" ? { hosts: hosts ?? ["example.com"] } : { paths: paths ?? ["/srv/notes"] };
  const parsed = GrantFile.parse({
    id: "notes",
    tool,
    mode: "auto",
    ...rest,
    ...(expires === undefined ? {} : { expires: new Date(expires) }),
    constraints: { ...places, ...(args === undefined ? {} : { args }) },
  });
  return { grant: completeGrant(parsed), file: file ?? `${parsed.id}.toml`, sha256: sha256(text), text };
}

export function valid(...grants: readonly LoadedGrant[]): ValidGrantSet {
  return { kind: "valid", grants, files: grants };
}

export interface StateFields {
  readonly taint?: DataClass;
  readonly untrusted?: boolean;
  readonly origin?: PolicyState["origin"];
  readonly ceiling?: DataClass;
  readonly spent?: Readonly<Record<string, number>>;
  readonly pathLabels?: readonly PathLabel[];
}

/** A new session on the owner's terminal unless said otherwise. */
export function state(fields: StateFields = {}): PolicyState {
  return {
    label: { taint: fields.taint ?? "public", untrusted: fields.untrusted ?? false },
    origin: fields.origin ?? "terminal",
    ceiling: fields.ceiling ?? "secret",
    usesSpent: (id) => fields.spent?.[id] ?? 0,
    pathLabels: fields.pathLabels ?? [],
  };
}

export function request(tool: string, args: Readonly<Record<string, unknown>> | string): CallRequest {
  return {
    session: SESSION,
    call: CallId.parse(7),
    tool,
    argumentsText: typeof args === "string" ? args : JSON.stringify(args),
  };
}

export const read = (at: string): CallRequest => request("read_file", { path: at });
export const write = (at: string): CallRequest => request("write_file", { path: at, content: "x" });
export const shell = (cwd?: string): CallRequest => request("shell", { command: "ls", ...(cwd === undefined ? {} : { cwd }) });
export const fetchOf = (url: string): CallRequest => request("http_fetch", { url });

/** Decides with the usual box and time. */
export function ask(what: CallRequest, grants: readonly LoadedGrant[], fields: StateFields = {}, now: Timestamp = NOW): Verdict {
  return decide(what, valid(...grants), state(fields), now, BOX);
}

/** `auto`, `ask`, or the reason of the denial. */
export function outcome(verdict: Verdict): string {
  if (verdict.kind === "denied") return verdict.reason;
  return verdict.kind === "allowed" ? "auto" : "ask";
}

export function path(text: string): AbsPath {
  return AbsPath.parse(text);
}

/** The plan of a call that isn't denied. */
export function planOf(verdict: Verdict): NonNullable<Verdict["record"]["run"]> {
  if (verdict.record.run === null) throw new Error(`expected a plan, got ${outcome(verdict)}`);
  return verdict.record.run;
}
