/**
 * Verifies one day file by itself: its first record says what it follows, and whoever has verified the file before can tell whether that
 * is so. It only ever says that a file is whole; what is wrong with one that isn't, the chain over the whole log has to say.
 */
import { readAuditFile, readFirstLine } from "@boxmaker/edge/audit-files";
import {
  AuditTally,
  type ChainHead,
  type Hash32,
  LineChain,
  type LogFile,
  readLog,
  readRecordLine,
  type TallyPart,
} from "@boxmaker/proto";
import { CompactTree, hashLeaf, type Subtree } from "@boxmaker/proto/transparency";
import { leafReader } from "./leaf-reader.ts";

/** The part of a tree over the whole log that is in this file. */
export interface DayTree {
  readonly firstLeaf: Hash32;
  /** Of the records up to the size that was asked for. */
  readonly subtrees: readonly Subtree[];
}

/** A file whose records follow each other. `after` is what its first record follows, as that record says. */
export interface WholeDay {
  readonly after: Pick<ChainHead, "seq" | "sha256">;
  readonly head: ChainHead;
  readonly part: TallyPart;
  readonly tree: DayTree;
}

/** What is kept of a file while the one before it isn't verified; with more, the files are better read in turn. */
const MAX_LOOSE_ENDS = 100_000;

/**
 * A whole file, or undefined where it holds no record or anything else than a whole chain. Errors of reading pass through.
 *
 * @param treeSize how many records of the log are hashed into a tree
 */
export async function verifyDay(directory: string, file: LogFile, treeSize: number): Promise<WholeDay | undefined> {
  const line = await readFirstLine(directory, file);
  const first = line === undefined ? undefined : readRecordLine(line.content);
  if (line === undefined || first?.kind !== "ok") return undefined;
  const after = { seq: first.value.seq - 1, sha256: first.value.prev };
  const tally = new AuditTally("part");
  const tree = new CompactTree(after.seq);
  const chain = new LineChain(
    leafReader(treeSize),
    (record, place) => {
      tally.add(record, place);
      if (record.leaf !== undefined) tree.push(record.leaf);
    },
    { after: { ...after, time: null } },
  );
  const end = await readLog([{ name: file.name, chunks: readAuditFile(directory, file) }], chain);
  const part = tally.part();
  if (end.kind !== "whole" || part === undefined || tally.looseEnds > MAX_LOOSE_ENDS) return undefined;
  return { after, head: end.head, part, tree: { firstLeaf: hashLeaf(line.content), subtrees: tree.subtrees } };
}
