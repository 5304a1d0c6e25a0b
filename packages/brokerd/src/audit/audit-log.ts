/** Opens the audit log at start: locks it, reads it whole, ends a torn tail, and refuses anything else that doesn't follow. */
import { fsync, lstatSync } from "node:fs";
import { promisify } from "node:util";
import { readAuditEntries, readAuditFile } from "@boxmaker/edge/audit-files";
import type { Clock } from "@boxmaker/edge/log";
import {
  type AbsPath,
  AuditChain,
  type AuditRecord,
  escapeText,
  type Hash32,
  listLog,
  phraseBreak,
  quoteText,
  readLog,
  recoveryOf,
  type TornLine,
} from "@boxmaker/proto";
import { makeDirectory, makePrivate } from "./audit-directory.ts";
import { AuditStoppedError } from "./audit-stopped-error.ts";
import { AuditLog } from "./audit-writer.ts";
import { BlobStore } from "./blob-store.ts";
import { DayFile } from "./day-file.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";

export type { AuditLog } from "./audit-writer.ts";

const syncFile = promisify(fsync);
const NEWLINE = Buffer.from("\n");
const NO_BLOBS: ReadonlyMap<Hash32, string> = new Map();

/** What opening needs. */
export interface AuditLogOptions {
  readonly directory: AbsPath;
  readonly clock: Pick<Clock, "now">;
  /** Takes every record of the log in order while it is being opened. Must not throw. */
  readonly onRecord: (record: AuditRecord) => void;
  /** Takes one printable line, should the log stop later. Must not throw. */
  readonly warn: (line: string) => void;
  /** Where to look for flock(1), instead of the usual places. */
  readonly lockPrograms?: readonly string[];
}

/** The log, and printable lines that the owner should see; or one line that says why there is none, with its runbook pointer. */
export type AuditLogOpening =
  | { readonly kind: "open"; readonly log: AuditLog; readonly notices: readonly string[] }
  | { readonly kind: "refused"; readonly problem: string };

function refuse(problem: string): AuditLogOpening {
  return { kind: "refused", problem };
}

function refuseDirectory(directory: AbsPath, problem: string): AuditLogOpening {
  return refuse(`cannot use ${quoteText(directory)} as the audit log: ${problem}; see docs/runbook.md#audit-directory`);
}

/**
 * Opens the log in `directory`, which is made where it is missing.
 *
 * Nothing is touched before the lock is held, and no byte of the log is ever changed or removed: a torn last line gets its newline
 * and a recovery record after it.
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLogOpening> {
  const { directory, lockPrograms } = options;
  try {
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
    // Whatever the file system said: without a readable log there is no brokerd.
    return refuseDirectory(directory, escapeText(error instanceof Error ? error.message : "an unknown error"));
  }
}

async function openLocked(
  { directory, clock, onRecord, warn }: AuditLogOptions,
  stack: AsyncDisposableStack,
  lock: DirectoryLock,
): Promise<AuditLogOpening> {
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
  const sources = listing.files.map((day) => ({ name: day.name, chunks: readAuditFile(directory, day) }));
  const end = await readLog(sources, new AuditChain(onRecord));
  if (end.kind === "broken") return refuse(`the audit log is broken: ${phraseBreak(end.at)}; see docs/runbook.md#audit-broken`);
  const blobs = stack.use(await BlobStore.open(directory, "blobs"));
  const grants = stack.use(await BlobStore.open(directory, "grants"));
  const log = new AuditLog({ directory, clock, warn, lock, blobs, grants, head: end.head, file });
  if (end.kind === "torn") {
    await endLastLine(directory, end.lines, file);
    notices.push(...(await recordTornLines(log, end.lines, onRecord)));
  }
  return { kind: "open", log, notices };
}

/** Gives the last line the newline it lacks, in its own file, which needn't be the newest one. */
async function endLastLine(directory: AbsPath, lines: readonly TornLine[], newest: DayFile | undefined): Promise<void> {
  const last = lines.at(-1);
  if (last === undefined || last.ended) return;
  if (newest?.name === last.file) {
    newest.append(NEWLINE);
    await newest.sync();
    return;
  }
  using older = DayFile.openRead(directory, last.file, last.offset + last.bytes);
  older.append(NEWLINE);
  await older.sync();
}

/** Writes a recovery record for each torn line, the last one first, as the chain reads them. */
async function recordTornLines(
  log: AuditLog,
  lines: readonly TornLine[],
  onRecord: (record: AuditRecord) => void,
): Promise<string[]> {
  const notices: string[] = [];
  for (const line of lines.toReversed()) {
    const { seq, record, durable } = log.append(recoveryOf(line), NO_BLOBS);
    await durable;
    onRecord(record);
    const where = `${quoteText(line.file)} line ${line.line}`;
    notices.push(
      `audit log: ${where} was cut off (${line.bytes} bytes) and is recorded as recovered in seq ${seq}; see docs/runbook.md#audit-recovered`,
    );
  }
  return notices;
}
