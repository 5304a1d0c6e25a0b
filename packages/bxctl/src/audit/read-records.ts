/** The records of the audit log from disk, in order, and what the log is at its end. Offline and read-only, also while brokerd writes. */
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { readAuditEntries } from "@boxmaker/edge/audit-files";
import {
  AuditChain,
  type AuditRecord,
  type ChainEnd,
  escapeText,
  type Hash32,
  LineSplitter,
  type LogFile,
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

const CHUNK_BYTES = 256 * 1024;

/** The bytes of a file up to its size when the log was listed. One buffer serves all chunks. */
function* readChunks(directory: string, { name, bytes }: LogFile): Generator<Uint8Array, void, undefined> {
  const descriptor = openSync(join(directory, name), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let left = bytes; left > 0; ) {
      const count = readSync(descriptor, buffer, 0, Math.min(left, buffer.length), null);
      if (count === 0) throw new Error(`${name} became shorter while it was read`);
      left -= count;
      yield buffer.subarray(0, count);
    }
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A log as it was when it was opened. It can be read any number of times, each time from its start and in flat memory; the chain is
 * checked on the way. Reading is synchronous, because what is made of it is a fold that waits for nothing else.
 */
export class RecordedLog {
  readonly #directory: string;
  readonly #files: readonly LogFile[];

  private constructor(directory: string, files: readonly LogFile[]) {
    this.#directory = directory;
    this.#files = files;
  }

  /** @throws {UnreadableLogError} where there is no log */
  static async open(directory: string): Promise<RecordedLog> {
    try {
      const listing = listLog(await readAuditEntries(directory));
      if (listing.kind === "refused") throw new Error(listing.problem);
      return new RecordedLog(directory, listing.files);
    } catch (error) {
      throw unreadable(directory, error);
    }
  }

  /**
   * Every record, oldest first.
   *
   * @throws {UnreadableLogError} where a file can't be read, and at the end of a broken log
   */
  *entries(): Generator<LogEntry, void, undefined> {
    const ready: LogEntry[] = [];
    const chain = new AuditChain((record) => void ready.push({ record, doubtful: false }), {
      onDoubtful: (record) => void ready.push({ record, doubtful: true }),
    });
    try {
      for (const file of this.#files) {
        const splitter = new LineSplitter((line) => chain.feed(line));
        chain.beginFile(file.name);
        for (const chunk of readChunks(this.#directory, file)) {
          splitter.push(chunk);
          yield* ready.splice(0);
        }
        splitter.end();
      }
    } catch (error) {
      throw unreadable(this.#directory, error);
    }
    const end = chain.end();
    yield* ready.splice(0);
    checkEnd(end);
  }

  /** As {@link entries}, but only the records that the chain vouches for. */
  *records(): Generator<AuditRecord, void, undefined> {
    for (const { record, doubtful } of this.entries()) if (!doubtful) yield record;
  }

  /** A text that a record names by hash: undefined where it isn't kept any more, or isn't that text. */
  kept(folder: "blobs" | "grants", hash: Hash32): string | undefined {
    try {
      const text = readFileSync(join(this.#directory, folder, hash), "utf8");
      return sha256(text) === hash ? text : undefined;
    } catch {
      // Kept texts may be pruned; whoever asks says so.
      return undefined;
    }
  }
}
