/** Is the log that is there the one that was signed? It may have grown since, and nothing else. One answer for every program. */
import { AuditChain, type ChainHead, type LogFile, type OnRecord, readLog, readRecordLine, sha256 } from "@boxmaker/proto";
import {
  type Checkpoint,
  type KeptCheckpoint,
  type LastLine,
  type LogTrees,
  leafOf,
  openStored,
  TreeComparison,
} from "@boxmaker/proto/transparency";
import { readAuditFile } from "./read-audit-files.ts";
import type { NewestCheckpoint } from "./read-checkpoints.ts";
import { readLineAt } from "./read-line-at.ts";

/** The trees of the log as it is, and the place of its last record. */
export interface ReadTrees {
  readonly trees: LogTrees;
  readonly last: LastLine | undefined;
}

/** `differs`: `found` says in a printable phrase what the log is instead. */
export type LogComparison = ReadTrees & ({ readonly kind: "agrees" } | { readonly kind: "differs"; readonly found: string });

/** A log that the chain has found whole or torn, as it was listed. */
export interface ListedLog {
  readonly directory: string;
  readonly files: readonly LogFile[];
}

/**
 * Compares the log with what was signed; with `newest` undefined it is only read. Signatures are for others to check. Errors of reading
 * pass through.
 */
export async function compareLog(log: ListedLog, newest: NewestCheckpoint | undefined): Promise<LogComparison> {
  const resumed = newest?.kept === undefined ? undefined : await readOn(log, newest.kept);
  if (resumed !== undefined) return { kind: "agrees", ...resumed };
  const reader = new TreeReader(newest?.checkpoint);
  const sources = log.files.map((file) => ({ name: file.name, chunks: readAuditFile(log.directory, file) }));
  await readLog(sources, new AuditChain(reader.onRecord));
  const found = newest === undefined ? undefined : reader.differenceTo(newest);
  const { trees, last } = reader;
  return found === undefined ? { kind: "agrees", trees, last } : { kind: "differs", found, trees, last };
}

/** Goes on from the checkpoint's last record; undefined where that doesn't do, so that the whole log has to be read. */
async function readOn({ directory, files }: ListedLog, kept: KeptCheckpoint): Promise<ReadTrees | undefined> {
  const { file: name, offset, bytes } = kept.last;
  const file = files.find((each) => each.name === name);
  const line = file === undefined ? undefined : await readLineAt(directory, file, offset, bytes);
  const reading = line === undefined ? undefined : readRecordLine(line);
  const trees = line === undefined ? undefined : openStored(kept, line);
  if (line === undefined || reading?.kind !== "ok" || trees === undefined) return undefined;
  const after: ChainHead = { seq: reading.value.seq, sha256: sha256(line), time: reading.value.time };
  const reader = new TreeReader(undefined, { trees, last: kept.last });
  const sources = files
    .filter((each) => each.name >= name)
    .map((each) => {
      const start = each.name === name ? offset + bytes + 1 : 0;
      return { name: each.name, offset: start, chunks: readAuditFile(directory, each, start) };
    });
  const end = await readLog(sources, new AuditChain(reader.onRecord, { after }));
  return end.kind === "broken" ? undefined : { trees: reader.trees, last: reader.last };
}

/** Builds the trees, and knows where the last record lies. */
class TreeReader implements ReadTrees {
  last: LastLine | undefined;
  readonly #comparison: TreeComparison;

  constructor(expected: Checkpoint | undefined, from?: ReadTrees) {
    this.#comparison = new TreeComparison(expected, from?.trees);
    this.last = from?.last;
  }

  get trees(): LogTrees {
    return this.#comparison.trees;
  }

  readonly onRecord: OnRecord = (record, { file, offset, bytes }) => {
    this.#comparison.add(record, leafOf(record));
    this.last = { file, offset, bytes };
  };

  /** What the log is instead of the one that was signed, which ends in the tree that was. */
  differenceTo({ checkpoint: { origin }, first, kept }: NewestCheckpoint): string | undefined {
    const { tree } = this.trees;
    if (tree !== undefined && tree.origin !== origin && tree.first > 1) {
      return `a break accepted in seq ${tree.first}, behind which nothing is signed`;
    }
    const { difference } = this.#comparison;
    if (difference !== undefined || tree === undefined) return difference;
    // A day's checkpoint counts by the tree that its name is of, and nobody has signed the name.
    return kept === undefined && tree.first !== first ? `a tree that begins with record ${tree.first}` : undefined;
  }
}
