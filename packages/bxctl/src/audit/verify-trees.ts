/** Verifies a log together with what a checkpoint says of it, in one reading. */
import { readAuditFile } from "@boxmaker/edge/audit-files";
import {
  AuditTally,
  type Hash32,
  LineChain,
  type LogFile,
  type ReadLine,
  readLog,
  readTalliedLine,
  type TalliedRecord,
} from "@boxmaker/proto";
import { type Checkpoint, hashLeaf, TreeComparison } from "@boxmaker/proto/transparency";
import type { VerifiedFiles } from "./verify-files.ts";

interface LeafRecord extends TalliedRecord {
  readonly leaf: Hash32;
}

const readLeafLine: ReadLine<LeafRecord> = (line) => {
  const reading = readTalliedLine(line);
  return reading.kind === "ok" ? { kind: "ok", value: { ...reading.value, leaf: hashLeaf(line) } } : reading;
};

/** A verified log, and what it has instead of what was signed, where that is anything. */
export interface ComparedFiles extends VerifiedFiles {
  readonly difference: string | undefined;
}

/** Verifies these files, oldest first. Errors of reading pass through. */
export async function verifyTrees(directory: string, files: readonly LogFile[], expected: Checkpoint): Promise<ComparedFiles> {
  const tally = new AuditTally();
  const comparison = new TreeComparison(expected);
  const chain = new LineChain(readLeafLine, (record, place) => {
    tally.add(record, place);
    comparison.add(record, record.leaf);
  });
  const end = await readLog(
    files.map((file) => ({ name: file.name, chunks: readAuditFile(directory, file) })),
    chain,
  );
  return { end, lists: tally.lists(), difference: comparison.difference };
}
