/** Where a session lies on disk. */
import { join } from "node:path";
import type { SessionId } from "@boxmaker/proto";

/** Names that begin so are of what was never finished being made. */
export const UNFINISHED_PREFIX = ".new-";

export function sessionFolder(sessions: string, session: SessionId): string {
  return join(sessions, session);
}

export function logFile(folder: string, epoch: number): string {
  return join(folder, `${epoch}.jsonl`);
}

export function baselineFile(folder: string, epoch: number): string {
  return join(folder, `${epoch}.baseline.json`);
}

/** The epoch that a file of the session's folder belongs to, if it is a log. */
export function epochOfLog(name: string): number | undefined {
  const digits = /^(?<epoch>0|[1-9][0-9]{0,8})\.jsonl$/u.exec(name)?.groups?.["epoch"];
  return digits === undefined ? undefined : Number(digits);
}
