/**
 * Verifies one day file by itself: its first record says what it follows, and whoever has verified the file before can tell whether that
 * is so. It only ever says that a file is whole; what is wrong with one that isn't, the chain over the whole log has to say.
 */
import { readAuditFile, readFirstLine } from "@boxmaker/edge/audit-files";
import {
  AuditTally,
  type ChainHead,
  LineChain,
  type LogFile,
  readLog,
  readRecordLine,
  readTalliedLine,
  type TallyPart,
} from "@boxmaker/proto";

/** A file whose records follow each other. `after` is what its first record follows, as that record says. */
export interface WholeDay {
  readonly after: Pick<ChainHead, "seq" | "sha256">;
  readonly head: ChainHead;
  readonly part: TallyPart;
}

/** What is kept of a file while the one before it isn't verified; with more, the files are better read in turn. */
const MAX_LOOSE_ENDS = 100_000;

/** A whole file, or undefined where it holds no record or anything else than a whole chain. Errors of reading pass through. */
export async function verifyDay(directory: string, file: LogFile): Promise<WholeDay | undefined> {
  const line = await readFirstLine(directory, file);
  const first = line === undefined ? undefined : readRecordLine(line.content);
  if (first?.kind !== "ok") return undefined;
  const after = { seq: first.value.seq - 1, sha256: first.value.prev };
  const tally = new AuditTally("part");
  const chain = new LineChain(readTalliedLine, (record, place) => tally.add(record, place), { after: { ...after, time: null } });
  const end = await readLog([{ name: file.name, chunks: readAuditFile(directory, file) }], chain);
  const part = tally.part();
  if (end.kind !== "whole" || part === undefined || tally.looseEnds > MAX_LOOSE_ENDS) return undefined;
  return { after, head: end.head, part };
}
