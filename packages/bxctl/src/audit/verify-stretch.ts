/**
 * Verifies a stretch of a day file by itself: its first record says what it follows, and whoever has verified the stretch before can tell
 * whether that is so. It only ever says that a stretch is whole; what is wrong with one that isn't, the chain over the whole log has to say.
 */
import { findLineStart, readAuditFileInPlace } from "@boxmaker/edge/day-files";
import type { Hash32, LogFile } from "@boxmaker/proto";
import {
  AuditTally,
  type ChainHead,
  CompactTree,
  hashLeaf,
  LineChain,
  LineSplitter,
  type LogLine,
  type ReadLine,
  type Subtree,
  type TalliedRecord,
  type TallyPart,
} from "@boxmaker/proto/audit-lines";
import { type LeafRecord, leafReader } from "./leaf-reader.ts";

/** The lines of a day file that begin at or behind `start` and before `end`, in bytes. */
export interface Stretch {
  readonly file: LogFile;
  readonly start: number;
  readonly end: number;
}

/** The part of a tree over the whole log that is in this stretch. */
export interface StretchTree {
  readonly firstLeaf: Hash32;
  /** Of the records up to the size that was asked for. */
  readonly subtrees: readonly Subtree[];
}

/** A stretch whose records follow each other. `after` is what its first record follows, as that record says. */
export interface WholeStretch {
  readonly kind: "whole";
  readonly after: Pick<ChainHead, "seq" | "sha256">;
  readonly head: ChainHead;
  readonly part: TallyPart;
  readonly tree: StretchTree;
}

/** `empty`: no line begins in it. `other`: it holds anything else than a whole chain. */
export type StretchReading = WholeStretch | { readonly kind: "empty" } | { readonly kind: "other" };

export interface StretchOptions {
  readonly directory: string;
  readonly read: ReadLine<TalliedRecord>;
  /** How many records of the log are hashed into a tree. */
  readonly treeSize: number;
  /** What the file is read into. */
  readonly buffer: Buffer;
}

/** What is kept of a stretch while the one before it isn't verified; with more, the log is better read in turn. */
const MAX_LOOSE_ENDS = 100_000;

/** What a stretch is. Errors of reading pass through. */
export async function verifyStretch(stretch: Stretch, options: StretchOptions): Promise<StretchReading> {
  const { directory, buffer } = options;
  const { file } = stretch;
  const start = await findLineStart(directory, file, stretch.start);
  const end = await findLineStart(directory, file, stretch.end);
  if (start === undefined || end === undefined) return { kind: "other" };
  const reader = new StretchReader({ file, start, end }, options);
  const splitter = new LineSplitter((line) => reader.take(line));
  for (const chunk of readAuditFileInPlace(directory, { ...file, bytes: end }, start, buffer)) splitter.push(chunk);
  splitter.end();
  return reader.end();
}

/** What the first record says, and what goes on from there. */
interface Begun {
  readonly after: WholeStretch["after"];
  readonly firstLeaf: Hash32;
  readonly chain: LineChain<LeafRecord>;
  readonly tally: AuditTally;
  readonly tree: CompactTree;
}

/** Takes the lines of a stretch that begins and ends with a line. */
class StretchReader {
  readonly #stretch: Stretch;
  readonly #options: StretchOptions;
  #lines = 0;
  #begun: Begun | undefined;

  constructor(stretch: Stretch, options: StretchOptions) {
    this.#stretch = stretch;
    this.#options = options;
  }

  take(line: LogLine): void {
    if (this.#lines === 0) this.#begun = this.#begin(line);
    this.#begun?.chain.feed(line);
    this.#lines++;
  }

  #begin({ content }: LogLine): Begun | undefined {
    const { read, treeSize } = this.#options;
    const { file, start } = this.#stretch;
    const first = content === undefined ? undefined : read(content);
    if (content === undefined || first?.kind !== "ok") return undefined;
    const after = { seq: first.value.seq - 1, sha256: first.value.prev };
    const tally = new AuditTally("part", start === 0 ? undefined : file.name);
    const tree = new CompactTree(after.seq);
    const chain = new LineChain<LeafRecord>(
      leafReader(read, treeSize),
      (record, place) => {
        tally.add(record, place);
        if (record.leaf !== undefined) tree.push(record.leaf);
      },
      { after: { ...after, time: null } },
    );
    chain.beginFile(file.name, start);
    return { after, firstLeaf: hashLeaf(content), chain, tally, tree };
  }

  end(): StretchReading {
    if (this.#lines === 0) return { kind: "empty" };
    if (this.#begun === undefined) return { kind: "other" };
    const { after, firstLeaf, chain, tally, tree } = this.#begun;
    const end = chain.end();
    const part = tally.part();
    if (end.kind !== "whole" || part === undefined || tally.looseEnds > MAX_LOOSE_ENDS) return { kind: "other" };
    return { kind: "whole", after, head: end.head, part, tree: { firstLeaf, subtrees: tree.subtrees } };
  }
}
