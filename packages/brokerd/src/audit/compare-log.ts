/** Is the log that a start finds the one that was signed? It may have grown since, and nothing else. */
import { type NewestCheckpoint, readAuditFile, readLineAt } from "@boxmaker/edge/audit-files";
import {
  type AbsPath,
  AuditChain,
  type ChainHead,
  type LogFile,
  type OnRecord,
  readLog,
  readRecordLine,
  sha256,
} from "@boxmaker/proto";
import {
  type Checkpoint,
  type KeptCheckpoint,
  type LastLine,
  type LogTrees,
  leafOf,
  openStored,
  TreeComparison,
} from "@boxmaker/proto/transparency";
import { readAll } from "./read-directory.ts";

/** The trees of the log as it is, and the place of its last record. */
export interface ReadTrees {
  readonly trees: LogTrees;
  readonly last: LastLine | undefined;
}

/** `differs`: `found` says in a printable phrase what the log is instead. */
export type Comparison = ReadTrees & ({ readonly kind: "agrees" } | { readonly kind: "differs"; readonly found: string });

/** A log that the chain has found whole or torn, as it was listed. */
export interface ListedLog {
  readonly directory: AbsPath;
  readonly files: readonly LogFile[];
}

/** Compares the log with what was signed; with `newest` undefined it is only read. Errors of reading pass through. */
export async function compareLog(log: ListedLog, newest: NewestCheckpoint | undefined): Promise<Comparison> {
  const resumed = newest?.kept === undefined ? undefined : await readOn(log, newest.kept);
  if (resumed !== undefined) return { kind: "agrees", ...resumed };
  const reader = new TreeReader(newest?.checkpoint);
  await readAll(log.directory, log.files, { onRecord: reader.onRecord, onDoubtful: () => undefined });
  const found = newest === undefined ? undefined : reader.differenceTo(newest.checkpoint);
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
  differenceTo({ origin }: Checkpoint): string | undefined {
    const { tree } = this.trees;
    if (tree !== undefined && tree.origin !== origin && tree.first > 1) {
      return `a break accepted in seq ${tree.first}, behind which nothing is signed`;
    }
    return this.#comparison.difference;
  }
}
