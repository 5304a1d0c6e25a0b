/** Opens the audit log at start: locks it, reads it, ends a torn tail, and refuses anything else that doesn't follow. */
import { fsync, lstatSync } from "node:fs";
import { promisify } from "node:util";
import { readAuditEntries } from "@boxmaker/edge/audit-files";
import type { Clock } from "@boxmaker/edge/log";
import {
  type AbsPath,
  type AuditRecord,
  type ChainEnd,
  escapeText,
  type Hash32,
  type LogFile,
  listLog,
  phraseBreak,
  quoteText,
} from "@boxmaker/proto";
import { makeDirectory, makePrivate } from "./audit-directory.ts";
import { AuditStoppedError } from "./audit-stopped-error.ts";
import { AuditLog } from "./audit-writer.ts";
import { BlobStore } from "./blob-store.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { DayFile } from "./day-file.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";
import { endLine, lossDue, mendingOf } from "./mending.ts";
import { isOutOfSpace, phraseFailure } from "./phrase-failure.ts";
import { type LogMark, type LogReader, MarkGate, readAll, readBehind } from "./read-directory.ts";
import { SyncPace } from "./sync-pace.ts";

export type { AuditLog } from "./audit-writer.ts";
export type { LogMark } from "./read-directory.ts";

const syncFile = promisify(fsync);
const NO_BLOBS: ReadonlyMap<Hash32, string> = new Map();

/** What opening needs. */
export interface AuditLogOptions {
  readonly directory: AbsPath;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Takes every record of the log in order while it is being opened. Must not throw. */
  readonly onRecord: (record: AuditRecord) => void;
  /**
   * Takes what reads as a record between a break and the record that accepts it, so that nothing in it makes anything laxer. Nothing
   * vouches for it. Must not throw.
   */
  readonly onDoubtful?: (record: AuditRecord) => void;
  /**
   * Where a snapshot of the state was taken: `onRecord` gets the records behind it only, and older files aren't read. A mark that isn't
   * in the log is told by `onRestart` and a notice.
   */
  readonly from?: LogMark | undefined;
  /** Goes on behind a break, on record. With nothing to accept nothing is written, and opening is refused as `nothing_to_accept`. */
  readonly acceptBreak?: boolean;
  /**
   * Forgets everything that was handed over so far and what a snapshot holds: the whole log follows from its first record. Needed with
   * `from` or `acceptBreak`. Must not throw.
   */
  readonly onRestart?: () => void;
  /** What the log is compared with before anything is appended, and what is told of every record from then on. Not owned. */
  readonly checkpoints?: Pick<Checkpoints, "begin" | "onDurable"> | undefined;
  /** Takes one printable line, should the log stop later. Must not throw. */
  readonly warn: (line: string) => void;
  /** Of the directory's disk, where something is known of it already. */
  readonly pace?: SyncPace;
  /** Where to look for flock(1), instead of the usual places. */
  readonly lockPrograms?: readonly string[];
}

/** The log, and printable lines that the owner should see; or one line that says why there is none, with its runbook pointer. */
export type AuditLogOpening =
  | { readonly kind: "open"; readonly log: AuditLog; readonly notices: readonly string[] }
  | { readonly kind: "refused"; readonly why: "unusable" | "nothing_to_accept"; readonly problem: string };

const NOBODY: LogReader = { onRecord: () => undefined, onDoubtful: () => undefined };
const NOTHING_TO_ACCEPT: AuditLogOpening = {
  kind: "refused",
  why: "nothing_to_accept",
  problem: "the audit log isn't broken, start without --accept-break; see docs/runbook.md#audit-break-accepted",
};

function refuse(problem: string): AuditLogOpening {
  return { kind: "refused", why: "unusable", problem };
}

function refuseDirectory(directory: AbsPath, problem: string): AuditLogOpening {
  return refuse(`cannot use ${quoteText(directory)} as the audit log: ${problem}; see docs/runbook.md#audit-directory`);
}

/**
 * Opens the log in `directory`, which is made where it is missing.
 *
 * Nothing is touched before the lock is held, and no byte of the log is ever changed or removed: a torn last line gets its newline
 * and a recovery record after it.
 *
 * @throws {RangeError} when `from` or `acceptBreak` comes without `onRestart`
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLogOpening> {
  const { directory, lockPrograms, from, acceptBreak: accepts = false, onRestart } = options;
  if (onRestart === undefined && (from !== undefined || accepts))
    throw new RangeError("expected onRestart with from or acceptBreak");
  try {
    if (accepts && lstatSync(directory, { throwIfNoEntry: false }) === undefined) return NOTHING_TO_ACCEPT;
    await makeDirectory(directory);
    if (!lstatSync(directory).isDirectory()) return refuseDirectory(directory, "it is a link or a file, expected a directory");
    const outcome = lockDirectory(directory, lockPrograms);
    if (outcome.kind === "refused") return refuseDirectory(directory, outcome.problem);
    if (outcome.kind === "held") {
      return refuse(
        `the audit log in ${quoteText(directory)} is held by another brokerd, stop that one; see docs/runbook.md#audit-locked`,
      );
    }
    await using stack = new AsyncDisposableStack();
    stack.use(outcome.lock);
    const opening = await openLocked(options, stack, outcome.lock);
    if (opening.kind === "open") stack.move();
    return opening;
  } catch (error) {
    if (error instanceof AuditStoppedError) return refuse(error.message);
    if (isOutOfSpace(error)) {
      const what = `cannot write the audit log in ${quoteText(directory)}: ${phraseFailure(error)}, make room`;
      return refuse(`${what}; see docs/runbook.md#audit-unavailable`);
    }
    // Whatever the file system said: without a readable log there is no brokerd.
    return refuseDirectory(directory, escapeText(error instanceof Error ? error.message : "an unknown error"));
  }
}

async function openLocked(options: AuditLogOptions, stack: AsyncDisposableStack, lock: DirectoryLock): Promise<AuditLogOpening> {
  const { directory, clock, onRecord, warn, acceptBreak = false, pace = new SyncPace() } = options;
  const notices: string[] = [];
  if (makePrivate(lock.descriptor)) notices.push(`took other users' access to ${quoteText(directory)} away`);
  const listing = listLog(await readAuditEntries(directory));
  if (listing.kind === "refused") return refuseDirectory(directory, listing.problem);
  for (const name of listing.strangers) notices.push(`${quoteText(name)} in ${quoteText(directory)} is no part of the audit log`);
  const newest = listing.files.at(-1);
  const file = newest === undefined ? undefined : stack.use(DayFile.openRead(directory, newest.name, newest.bytes));
  // An earlier run may have died before its sync: what is about to be believed has to be on the disk.
  await file?.sync();
  await syncFile(lock.descriptor);

  let end = await readListed(options, listing.files, notices);
  const wasBroken = end.kind === "broken";
  if (acceptBreak && end.kind === "broken" && end.acceptance?.unended !== undefined) {
    await endLine(directory, end.acceptance.unended, file);
    notices.push("the last line of the audit log had no newline, and got one");
    // With it the line may be another one: a record, or an acceptance that a crash kept from being whole.
    end = await readAgain(options);
  }
  const mending = mendingOf(end, acceptBreak);
  if (mending.kind === "broken")
    return refuse(`the audit log is broken: ${phraseBreak(mending.at)}; see docs/runbook.md#audit-broken`);
  const verdict = (await options.checkpoints?.begin(directory, end)) ?? { kind: "agrees" };
  if (verdict.kind === "unusable" || (verdict.kind === "differs" && !acceptBreak)) return refuse(verdict.problem);
  if (acceptBreak && !wasBroken && verdict.kind === "agrees") return NOTHING_TO_ACCEPT;

  const blobs = stack.use(await BlobStore.open(directory, "blobs"));
  const grants = stack.use(await BlobStore.open(directory, "grants"));
  const { checkpoints } = options;
  const onDurable = checkpoints?.onDurable.bind(checkpoints);
  const log = new AuditLog({ directory, clock, pace, warn, lock, blobs, grants, head: mending.head, file, onDurable });
  if (mending.unended !== undefined) await endLine(directory, mending.unended, file);
  const loss = verdict.kind === "differs" ? [lossDue(verdict)] : [];
  for (const { event, phrase } of [...mending.due, ...loss]) {
    const { seq, record, durable } = log.append(event, NO_BLOBS);
    await durable;
    onRecord(record);
    notices.push(phrase(seq));
  }
  return { kind: "open", log, notices };
}

function readerOf({ onRecord, onDoubtful }: AuditLogOptions): LogReader {
  return { onRecord, onDoubtful: onDoubtful ?? (() => undefined) };
}

/** Reads the log as it was listed: behind the mark, or the whole of it where there is none or that doesn't do. */
async function readListed(options: AuditLogOptions, files: readonly LogFile[], notices: string[]): Promise<ChainEnd> {
  const { directory, from, onRestart, acceptBreak = false } = options;
  const reader = readerOf(options);
  if (from === undefined) return await readAll(directory, files, reader);
  // What is accepted is a break of the whole log.
  const behind = acceptBreak ? undefined : await readBehind(directory, files, from, reader);
  if (behind !== undefined) return behind;
  onRestart?.();
  const gate = new MarkGate(from, NOBODY);
  const end = await readAll(directory, files, {
    ...reader,
    onRecord: (record, place) => {
      gate.onRecord(record, place);
      reader.onRecord(record, place);
    },
  });
  if (!gate.isOpen && end.kind !== "broken") {
    notices.push(
      `the state was saved at seq ${from.seq} of another audit log, or this one was cut or changed since; see docs/runbook.md#audit-other-log`,
    );
  }
  return end;
}

/** Reads the whole log as it is now. */
async function readAgain(options: AuditLogOptions): Promise<ChainEnd> {
  const listing = listLog(await readAuditEntries(options.directory));
  if (listing.kind === "refused") throw new Error(listing.problem);
  options.onRestart?.();
  return await readAll(options.directory, listing.files, readerOf(options));
}
