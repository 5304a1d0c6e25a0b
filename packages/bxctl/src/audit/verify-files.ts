/**
 * Verifies the day files of a log, and whether they hold what a checkpoint says: in stretches side by side where there is enough to read
 * and more than one processor, else in turn. Side by side only tells that a log is whole and as it was signed; whatever else it is, one
 * reading of all files judges.
 */
import { availableParallelism } from "node:os";
import { readAuditFile } from "@boxmaker/edge/audit-files";
import { CHUNK_BYTES } from "@boxmaker/edge/day-files";
import {
  AuditTally,
  type ChainEnd,
  type ChainHead,
  type Hash32,
  LineChain,
  type LogFile,
  RECORD_PATTERN,
  readLog,
  readTalliedLine,
  type TallyLists,
  ZERO_HASH,
} from "@boxmaker/proto";
import { type Checkpoint, CompactTree, TreeComparison, treeOrigin } from "@boxmaker/proto/transparency";
import { leafReader } from "./leaf-reader.ts";
import { MIN_PARALLEL_BYTES, StretchThreads } from "./stretch-threads.ts";
import { type StretchResult, type StretchWork, takeStretches } from "./take-stretches.ts";
import { type Stretch, type StretchReading, verifyStretch } from "./verify-stretch.ts";

const STRETCH_BYTES = 8 * 1024 * 1024;
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
  /** How many stretches are read at the same time at most. */
  readonly threads?: number;
  /** Threads that were started already: all are used, and none besides. */
  readonly started?: StretchThreads | undefined;
  /** Logs of fewer bytes are read in turn. */
  readonly minParallelBytes?: number;
  /** How long stretches are, at most. */
  readonly stretchBytes?: number;
}

/** Verifies these files, oldest first, and counts their records. Errors of reading pass through. */
export async function verifyFiles(
  directory: string,
  files: readonly LogFile[],
  {
    expected,
    threads = availableParallelism(),
    started,
    minParallelBytes = MIN_PARALLEL_BYTES,
    stretchBytes = STRETCH_BYTES,
  }: VerifyFilesOptions = {},
): Promise<VerifiedFiles> {
  const stretches = cutStretches(files, stretchBytes);
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const wanted = started === undefined ? Math.min(threads, stretches.length) : started.size + 1;
  if (wanted >= 2 && total >= minParallelBytes) {
    const taken = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const treeSize = expected?.size ?? 0;
    const work = { directory, stretches, taken, treeSize, pattern: RECORD_PATTERN };
    await using own = started === undefined ? StretchThreads.start(wanted - 1) : undefined;
    const readings = await verifySideBySide(work, own ?? started);
    const whole = joinStretches(readings, expected);
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
  const read = leafReader(readTalliedLine, expected === undefined ? 0 : Number.POSITIVE_INFINITY);
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

/** The log of these stretches, or undefined where it isn't one whole chain with what is expected in it. */
function joinStretches(
  readings: readonly (StretchReading | undefined)[],
  expected: Checkpoint | undefined,
): VerifiedFiles | undefined {
  const tally = new AuditTally();
  const tree = new CompactTree();
  let firstLeaf: Hash32 | undefined;
  let head = BEGINNING;
  for (const reading of readings) {
    if (reading?.kind === "empty") continue;
    if (reading?.kind !== "whole" || reading.after.seq !== head.seq || reading.after.sha256 !== head.sha256) return undefined;
    tally.join(reading.part);
    tree.append(reading.tree.subtrees);
    firstLeaf ??= reading.tree.firstLeaf;
    head = reading.head;
  }
  const lists = tally.lists();
  if (expected !== undefined) {
    // A record that accepts a loss begins another tree.
    if (firstLeaf === undefined || lists.acceptedLosses.total > 0 || treeOrigin(firstLeaf) !== expected.origin) return undefined;
    if (tree.size !== expected.size || tree.root() !== expected.root) return undefined;
  }
  return { end: { kind: "whole", head }, lists, difference: undefined };
}

/** Cuts the files into pieces that are long enough to be worth a start, and short enough that all threads end at about the same time. */
function cutStretches(files: readonly LogFile[], stretchBytes: number): readonly Stretch[] {
  return files.flatMap((file) =>
    Array.from({ length: Math.ceil(file.bytes / stretchBytes) }, (_, index) => {
      const start = index * stretchBytes;
      return { file, start, end: Math.min(start + stretchBytes, file.bytes) };
    }),
  );
}

/** What each stretch is, in the order given; undefined for those that weren't read. This thread takes its share of them. */
async function verifySideBySide(
  work: StretchWork,
  others: StretchThreads | undefined,
): Promise<readonly (StretchReading | undefined)[]> {
  const { directory, stretches, treeSize } = work;
  const readings = stretches.map((): StretchReading | undefined => undefined);
  const onResult = ({ index, reading }: StretchResult): void => {
    readings[index] = reading;
  };
  const options = { directory, read: readTalliedLine, treeSize, buffer: Buffer.allocUnsafe(CHUNK_BYTES) };
  const verify = (stretch: Stretch): Promise<StretchReading> => verifyStretch(stretch, options);
  await Promise.all([takeStretches(work, verify, onResult), others?.work(work, onResult)]);
  return readings;
}
