/** The records of the audit log from disk, in order, and what the log is at its end. Offline and read-only, also while brokerd writes. */
import { closeSync, constants, lstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { readAuditEntries, readAuditFile, readFirstLine, readLastLine } from "@boxmaker/edge/audit-files";
import {
  AuditChain,
  type AuditRecord,
  type ChainEnd,
  type ChainHead,
  dayFileOf,
  escapeText,
  type Hash32,
  LineChain,
  LineSplitter,
  type LogFile,
  listLog,
  millisFromTimestamp,
  phraseBreak,
  quoteText,
  readLog,
  readRecordLine,
  readTalliedLine,
  sha256,
  type Timestamp,
  timestampFromMillis,
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

/** The files to read, and the record that they go on from where older ones are left out. */
interface LogSpan {
  readonly files: readonly LogFile[];
  readonly after: ChainHead | undefined;
}

/** Calls that were decided before may be answered or come back later: an ask waits a day at most. */
const MARGIN_MS = 2 * 24 * 3_600_000;

/** Whether something in these files doesn't follow. It may have been accepted, which only the whole log can tell. */
async function isBroken(directory: string, { files, after }: LogSpan): Promise<boolean> {
  const chain = new LineChain(readTalliedLine, () => undefined, after === undefined ? {} : { after });
  const end = await readLog(
    files.map((file) => ({ name: file.name, chunks: readAuditFile(directory, file) })),
    chain,
  );
  return end.kind === "broken";
}

/** No record is of a later time than its file's day, so older files hold nothing that is wanted. */
async function spanSince(directory: string, whole: LogSpan, since: Timestamp): Promise<LogSpan> {
  const from = dayFileOf(timestampFromMillis(Math.max(0, millisFromTimestamp(since) - MARGIN_MS)));
  const first = whole.files.findIndex(({ name }) => name >= from);
  const [before, next] = [whole.files[first - 1], whole.files[first]];
  if (before === undefined || next === undefined) return whole;
  const last = await readLastLine(directory, before);
  const following = await readFirstLine(directory, next);
  if (last === undefined || following === undefined) return whole;
  const head = readRecordLine(last.content);
  const follower = readRecordLine(following.content);
  const hash = sha256(last.content);
  // A line that turned out to be torn is no record to go on from; the one that says so doesn't name its hash.
  if (head.kind !== "ok" || follower.kind !== "ok" || follower.value.prev !== hash) return whole;
  const span: LogSpan = { files: whole.files.slice(first), after: { seq: head.value.seq, sha256: hash, time: head.value.time } };
  return (await isBroken(directory, span)) ? whole : span;
}

/**
 * A log as it was when it was opened. It can be read any number of times, each time from its start and in flat memory; the chain is
 * checked on the way. Reading is synchronous, because what is made of it is a fold that waits for nothing else.
 */
export class RecordedLog {
  readonly #directory: string;
  readonly #span: LogSpan;

  private constructor(directory: string, span: LogSpan) {
    this.#directory = directory;
    this.#span = span;
  }

  /**
   * Opens the log, all of it unless `since` is given: then older day files are left out where the chain can be taken up behind them.
   *
   * @throws {UnreadableLogError} where there is no log
   */
  static async open(directory: string, since?: Timestamp): Promise<RecordedLog> {
    try {
      const listing = listLog(await readAuditEntries(directory));
      if (listing.kind === "refused") throw new Error(listing.problem);
      const whole: LogSpan = { files: listing.files, after: undefined };
      return new RecordedLog(directory, since === undefined ? whole : await spanSince(directory, whole, since));
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
      ...(this.#span.after === undefined ? {} : { after: this.#span.after }),
    });
    try {
      for (const file of this.#span.files) {
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
    const path = join(this.#directory, folder, hash);
    try {
      // Reading a pipe in its place would wait for ever.
      if (!lstatSync(path).isFile()) return undefined;
      const text = readFileSync(path, "utf8");
      return sha256(text) === hash ? text : undefined;
    } catch {
      // Kept texts may be pruned; whoever asks says so.
      return undefined;
    }
  }
}
