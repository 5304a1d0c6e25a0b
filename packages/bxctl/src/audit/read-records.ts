/** The records of the audit log from disk, in order, and what the log is at its end. Offline and read-only, also while brokerd writes. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readAuditEntries, readAuditFile } from "@boxmaker/edge/audit-files";
import {
  AuditChain,
  type AuditRecord,
  type ChainEnd,
  escapeText,
  type Hash32,
  LineSplitter,
  listLog,
  phraseBreak,
  quoteText,
  sha256,
  unreachable,
} from "@boxmaker/proto";

/** A record that the chain vouches for, or (`doubtful`) one behind a break, accepted later or not. */
export interface LogEntry {
  readonly record: AuditRecord;
  readonly doubtful: boolean;
}

/** The log can't be read, or not to its end. The message is one printable line with its runbook pointer. */
export class UnreadableLogError extends Error {
  override readonly name = "UnreadableLogError";
}

function unreadable(directory: string, error: unknown): UnreadableLogError {
  const problem = error instanceof Error ? error.message : "an unknown error";
  return new UnreadableLogError(
    `the audit log in ${quoteText(directory)} can't be read: ${escapeText(problem)}; see docs/runbook.md#audit-directory`,
    { cause: error },
  );
}

function checkEnd(end: ChainEnd): void {
  switch (end.kind) {
    case "whole":
    // What brokerd is writing now, or was cut off: no record yet.
    case "torn":
      return;
    case "broken":
      throw new UnreadableLogError(
        `the audit log is broken, and nothing vouches for what lies behind: ${phraseBreak(end.at)}; see docs/runbook.md#audit-broken`,
      );
    default:
      unreachable(end);
  }
}

/**
 * Every record of the log as it is on disk now, oldest first, in flat memory. The chain is checked on the way.
 *
 * @throws {UnreadableLogError} where the directory or a file can't be read, and at the end of a broken log
 */
export async function* readRecords(directory: string): AsyncGenerator<LogEntry, void, undefined> {
  const ready: LogEntry[] = [];
  const chain = new AuditChain((record) => void ready.push({ record, doubtful: false }), {
    onDoubtful: (record) => void ready.push({ record, doubtful: true }),
  });
  try {
    const listing = listLog(await readAuditEntries(directory));
    if (listing.kind === "refused") throw new Error(listing.problem);
    for (const file of listing.files) {
      const splitter = new LineSplitter((line) => chain.feed(line));
      chain.beginFile(file.name);
      for await (const chunk of readAuditFile(directory, file)) {
        splitter.push(chunk);
        yield* ready.splice(0);
      }
      splitter.end();
    }
  } catch (error) {
    throw unreadable(directory, error);
  }
  const end = chain.end();
  yield* ready.splice(0);
  checkEnd(end);
}

/** A text that a record names by hash: undefined where it isn't kept any more, or isn't that text. */
export async function readKept(directory: string, folder: "blobs" | "grants", hash: Hash32): Promise<string | undefined> {
  try {
    const text = await readFile(join(directory, folder, hash), "utf8");
    return sha256(text) === hash ? text : undefined;
  } catch {
    // Kept texts may be pruned; whoever asks says so.
    return undefined;
  }
}
