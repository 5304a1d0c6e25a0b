/** Reads the files of an audit directory at start: all of them, or from a record on that a snapshot of the state was taken at. */
import { type FileLine, readAuditFile, readFirstLine, readLastLine } from "@boxmaker/edge/audit-files";
import {
  type AbsPath,
  AuditChain,
  type AuditRecord,
  type ChainEnd,
  type ChainHead,
  type Hash32,
  type LogFile,
  type OnRecord,
  readLog,
  readRecordLine,
  ZERO_HASH,
} from "@boxmaker/proto";

/** A place in the chain: `head` is the SHA-256 of the whole line of record `seq`, without its newline. */
export interface LogMark {
  readonly seq: number;
  readonly head: Hash32;
}

/** What is told of the records of a log. None of them may throw. */
export interface LogReader {
  /** Takes every record in order. */
  readonly onRecord: OnRecord;
  /** Takes what reads as a record between a break and the record that accepts it. Nothing vouches for it. */
  readonly onDoubtful: OnRecord;
}

/** Lets what comes behind a mark through, once the marked record itself has been seen with its hash. */
export class MarkGate implements LogReader {
  readonly #mark: LogMark;
  readonly #reader: LogReader;
  #isOpen: boolean;

  constructor(mark: LogMark, reader: LogReader) {
    this.#mark = mark;
    this.#reader = reader;
    this.#isOpen = mark.seq === 0 && mark.head === ZERO_HASH;
  }

  /** Whether the marked record was there, and the one that was marked. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  readonly onRecord: OnRecord = (record, place) => {
    if (record.seq === this.#mark.seq) this.#isOpen = place.sha256 === this.#mark.head;
    else if (this.#isOpen) this.#reader.onRecord(record, place);
  };

  readonly onDoubtful: OnRecord = (record, place) => {
    if (this.#isOpen) this.#reader.onDoubtful(record, place);
  };
}

/** Reads every file, oldest first. Errors of reading pass through. */
export async function readAll(
  directory: AbsPath,
  files: readonly LogFile[],
  { onRecord, onDoubtful }: LogReader,
): Promise<ChainEnd> {
  const sources = files.map((file) => ({ name: file.name, chunks: readAuditFile(directory, file) }));
  return await readLog(sources, new AuditChain(onRecord, { onDoubtful }));
}

/**
 * Reads the file that holds the marked record and those after it, taking the chain up at the last line of the file before, so that
 * it takes the same time however long the log is. What comes behind the mark goes to `reader`.
 *
 * Undefined where that comes to no judgement: the mark isn't there, a line to begin at can't be read, or something doesn't follow,
 * which only the whole log can tell the place of. Errors of reading pass through.
 */
export async function readBehind(
  directory: AbsPath,
  files: readonly LogFile[],
  mark: LogMark,
  reader: LogReader,
): Promise<ChainEnd | undefined> {
  const gate = new MarkGate(mark, reader);
  const end = await readFromFile(directory, files, await findMarked(directory, files, mark.seq), gate);
  return gate.isOpen && end?.kind !== "broken" ? end : undefined;
}

async function readFromFile(
  directory: AbsPath,
  files: readonly LogFile[],
  first: LogFile | undefined,
  gate: MarkGate,
): Promise<ChainEnd | undefined> {
  if (first === undefined) return undefined;
  const before = files.findLast(({ name, bytes }) => name < first.name && bytes > 0);
  if (before === undefined) return await readAll(directory, files, gate);
  const line = await readLastLine(directory, before);
  const record = recordOf(line);
  if (line === undefined || record === undefined) return undefined;
  const after: ChainHead = { seq: record.seq - 1, sha256: record.prev, time: null };
  const later = files.filter(({ name }) => name > before.name).map((file) => ({ file, offset: 0 }));
  const sources = [{ file: before, offset: line.offset }, ...later].map(({ file, offset }) => {
    return { name: file.name, offset, chunks: readAuditFile(directory, file, offset) };
  });
  return await readLog(sources, new AuditChain(gate.onRecord, { after }));
}

/** The newest file that begins with the marked record, an earlier one, or the one right behind it. */
async function findMarked(directory: AbsPath, files: readonly LogFile[], seq: number): Promise<LogFile | undefined> {
  for (const file of files.toReversed()) {
    const record = recordOf(await readFirstLine(directory, file));
    if (record !== undefined && record.seq <= seq + 1) return file;
  }
  return undefined;
}

function recordOf(line: FileLine | undefined): AuditRecord | undefined {
  const reading = line === undefined ? undefined : readRecordLine(line.content);
  return reading?.kind === "ok" ? reading.value : undefined;
}
