/** Audit logs in temporary directories, for tests. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AbsPath, type AuditEvent, type AuditRecord, SessionId, sha256 } from "@boxmaker/proto";
import { type AuditLog, type AuditLogOptions, openAuditLog } from "../../src/audit/audit-log.ts";

export const NO_BLOBS: ReadonlyMap<never, never> = new Map<never, never>();
export const DAY = "2026-01-05.jsonl";

/** A path that a test owns; removed with it. */
export class TempDirectory implements Disposable {
  readonly path: AbsPath;

  constructor() {
    this.path = AbsPath.parse(realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-audit-"))));
  }

  /** Where the log goes: doesn't exist at first. */
  get audit(): AbsPath {
    return AbsPath.parse(join(this.path, "audit"));
  }

  file(name: string): string {
    return join(this.audit, name);
  }

  text(name: string): string {
    return readFileSync(this.file(name), "utf8");
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A clock that stands still until a test moves it. */
export class FakeClock {
  text = "2026-01-05T08:00:00.000Z";
  now(): number {
    return Date.parse(this.text);
  }
  elapsed = 0;
  monotonic(): number {
    return this.elapsed;
  }
}

export function startedEvent(head: number, version = "0.1.0"): AuditEvent {
  return { kind: "started", version, config_sha256: sha256("config"), head, reserved: [] };
}

export function sessionEvent(session: string): AuditEvent {
  const state = { taint: "public", untrusted: false } as const;
  return { kind: "session_opened", session: SessionId.parse(session), origin: "terminal", ceiling: "secret", state, from: null };
}

export interface Opened extends AsyncDisposable {
  readonly log: AuditLog;
  readonly notices: readonly string[];
  readonly records: readonly AuditRecord[];
  readonly warnings: readonly string[];
}

/** Opens the log, which has to succeed. */
export async function openLog(directory: AbsPath, clock: AuditLogOptions["clock"] = new FakeClock()): Promise<Opened> {
  const records: AuditRecord[] = [];
  const warnings: string[] = [];
  const opening = await openAuditLog({
    directory,
    clock,
    onRecord: (record) => records.push(record),
    warn: (line) => warnings.push(line),
  });
  if (opening.kind === "refused") throw new Error(opening.problem);
  const { log, notices } = opening;
  return { log, notices, records, warnings, [Symbol.asyncDispose]: async () => await log[Symbol.asyncDispose]() };
}

/** Tries to open the log, which has to be refused; returns the problem. */
export async function refusedLog(directory: AbsPath, options: Partial<AuditLogOptions> = {}): Promise<string> {
  const opening = await openAuditLog({ directory, clock: new FakeClock(), onRecord: () => {}, warn: () => {}, ...options });
  if (opening.kind === "refused") return opening.problem;
  await opening.log[Symbol.asyncDispose]();
  throw new Error("expected the log to be refused");
}
