/** Does a log hold what a checkpoint signs? Told record by record, in flat memory. */
import type { Hash32 } from "../ids/hash32.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { LogTrees, type TreeRecord } from "./log-trees.ts";

/** Builds the trees of a log, and remembers what the checkpoint's tree was at the checkpoint's size. */
export class TreeComparison {
  readonly trees: LogTrees;
  readonly #expected: Checkpoint | undefined;
  #isFirst = true;
  #records = 0;
  #root: Hash32 | undefined;

  /** @param trees what is known of the log already, up to a record behind which the checkpoint isn't */
  constructor(expected: Checkpoint | undefined, trees: LogTrees = new LogTrees()) {
    this.#expected = expected;
    this.trees = trees;
  }

  /** Takes each record in order, with its leaf. */
  add(record: TreeRecord, leaf: Hash32): void {
    this.trees.add(record, leaf);
    const { tree } = this.trees;
    this.#isFirst = tree?.first === 1;
    if (tree === undefined || tree.origin !== this.#expected?.origin) return;
    this.#records = tree.size;
    if (tree.size === this.#expected.size) this.#root = this.trees.root();
  }

  /** How many records the checkpoint's tree has in this log. */
  get records(): number {
    return this.#records;
  }

  /** What the log has instead of what was signed, in a printable phrase; undefined where it has just that. */
  get difference(): string | undefined {
    const expected = this.#expected;
    if (expected === undefined) return undefined;
    if (this.trees.tree === undefined) return "no record";
    if (this.#records === 0) {
      return this.#isFirst
        ? "another first record, so it is another log or was rewritten as a whole"
        : "no tree of this name, so it is another log or was rewritten as a whole";
    }
    if (this.#records < expected.size) return `${this.#records} records, so its tail was cut off`;
    return this.#root === expected.root ? undefined : "other records, so it was rewritten";
  }
}
