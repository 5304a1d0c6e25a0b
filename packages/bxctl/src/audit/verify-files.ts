/**
 * Verifies the day files of a log, and whether they hold what a checkpoint says: side by side where there is enough to read and more than
 * one processor, else in turn. Side by side only tells that a log is whole and as it was signed; whatever else it is, one reading of all
 * files judges.
 */
import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { readAuditFile } from "@boxmaker/edge/audit-files";
import {
  AuditTally,
  type ChainEnd,
  type ChainHead,
  LineChain,
  type LogFile,
  readLog,
  type TallyLists,
  ZERO_HASH,
} from "@boxmaker/proto";
import { type Checkpoint, CompactTree, TreeComparison, treeOrigin } from "@boxmaker/proto/transparency";
import type { DayTask } from "./day-worker.ts";
import { leafReader } from "./leaf-reader.ts";
import type { WholeDay } from "./verify-day.ts";

/** A thread takes half a second to start, in which one reads some ten megabytes. */
const MIN_PARALLEL_BYTES = 64 * 1024 * 1024;
const BEGINNING: ChainHead = { seq: 0, sha256: ZERO_HASH, time: null };

export interface VerifiedFiles {
  readonly end: ChainEnd;
  readonly lists: TallyLists;
  /** What the log has instead of what was signed, where that is anything; a printable phrase. */
  readonly difference: string | undefined;
}

export interface VerifyFilesOptions {
  /** What the log is compared with. */
  readonly expected?: Checkpoint | undefined;
  /** How many files are read at the same time at most. */
  readonly threads?: number;
  /** Logs of fewer bytes are read in turn. */
  readonly minParallelBytes?: number;
}

/** Verifies these files, oldest first, and counts their records. Errors of reading pass through. */
export async function verifyFiles(
  directory: string,
  files: readonly LogFile[],
  { expected, threads = availableParallelism(), minParallelBytes = MIN_PARALLEL_BYTES }: VerifyFilesOptions = {},
): Promise<VerifiedFiles> {
  const written = files.filter(({ bytes }) => bytes > 0);
  const total = written.reduce((sum, { bytes }) => sum + bytes, 0);
  const wanted = Math.min(threads, written.length);
  if (wanted >= 2 && total >= minParallelBytes) {
    const days = await verifySideBySide(directory, written, wanted, expected?.size ?? 0);
    const whole = joinDays(days, expected);
    if (whole !== undefined) return whole;
  }
  return await verifyInTurn(directory, files, expected);
}

async function verifyInTurn(
  directory: string,
  files: readonly LogFile[],
  expected: Checkpoint | undefined,
): Promise<VerifiedFiles> {
  const tally = new AuditTally();
  const comparison = new TreeComparison(expected);
  // Which tree a record belongs to is known once it is read, so all have leaves.
  const read = leafReader(expected === undefined ? 0 : Number.POSITIVE_INFINITY);
  const chain = new LineChain(read, (record, place) => {
    tally.add(record, place);
    if (record.leaf !== undefined) comparison.add(record, record.leaf);
  });
  const end = await readLog(
    files.map((file) => ({ name: file.name, chunks: readAuditFile(directory, file) })),
    chain,
  );
  return { end, lists: tally.lists(), difference: comparison.difference };
}

/** The log of these days, or undefined where it isn't one whole chain with what is expected in it. */
function joinDays(days: readonly (WholeDay | undefined)[], expected: Checkpoint | undefined): VerifiedFiles | undefined {
  const tally = new AuditTally();
  const tree = new CompactTree();
  let head = BEGINNING;
  for (const day of days) {
    if (day === undefined || day.after.seq !== head.seq || day.after.sha256 !== head.sha256) return undefined;
    tally.join(day.part);
    tree.append(day.tree.subtrees);
    head = day.head;
  }
  const lists = tally.lists();
  if (expected !== undefined) {
    const firstLeaf = days[0]?.tree.firstLeaf;
    // A record that accepts a loss begins another tree.
    if (firstLeaf === undefined || lists.acceptedLosses.total > 0 || treeOrigin(firstLeaf) !== expected.origin) return undefined;
    if (tree.size !== expected.size || tree.root() !== expected.root) return undefined;
  }
  return { end: { kind: "whole", head }, lists, difference: undefined };
}

async function ask(worker: Worker, task: DayTask): Promise<WholeDay | undefined> {
  const answer = Promise.withResolvers<WholeDay | undefined>();
  worker.once("message", answer.resolve).once("error", answer.reject).once("exit", answer.reject);
  worker.postMessage(task);
  try {
    return await answer.promise;
  } finally {
    worker.off("message", answer.resolve).off("error", answer.reject).off("exit", answer.reject);
  }
}

/** What each file is, in the order given. A thread that fails leaves the rest of its files undefined. */
async function verifySideBySide(
  directory: string,
  files: readonly LogFile[],
  threads: number,
  treeSize: number,
): Promise<readonly (WholeDay | undefined)[]> {
  const days = files.map((): WholeDay | undefined => undefined);
  const tasks = files.entries();
  const work = async (): Promise<void> => {
    // The source and the compiled package have different endings.
    const worker = new Worker(new URL(`./day-worker${extname(import.meta.url)}`, import.meta.url));
    try {
      for (const [index, file] of tasks) {
        const day = await ask(worker, { directory, file, treeSize });
        if (day === undefined) break;
        days[index] = day;
      }
    } catch {
      // The file can't be read or the thread can't go on: reading the log in turn says which, and fails for the same reason.
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, work));
  return days;
}
