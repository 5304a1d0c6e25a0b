/** The trees over one audit log's records: one from the first record on, and another from each record on that accepts a break. */
import type { AuditEvent, AuditRecord } from "../audit/audit-event.ts";
import type { Hash32 } from "../ids/hash32.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import { treeOrigin } from "./checkpoint.ts";
import { CompactTree } from "./compact-tree.ts";
import type { Frontier } from "./frontier.ts";
import { hashLeaf } from "./merkle-hash.ts";

/** A tree at some size: its records are those from seq `first` on, and `origin` is its identity. */
export interface LogTree {
  readonly origin: string;
  readonly first: number;
  readonly size: number;
}

/** What {@link LogTrees.from} goes on with: the tree, and the subtrees before its last record, which comes by its hash. */
export interface StoredTree {
  readonly origin: string;
  readonly first: number;
  readonly before: Frontier;
}

/** What of a record decides to which tree it belongs. */
export interface TreeRecord {
  readonly seq: number;
  readonly event: { readonly kind: AuditEvent["kind"] };
}

/** The leaf of a record: the hash of its line, which is its canonical JSON. */
export function leafOf(record: AuditRecord): Hash32 {
  return hashLeaf(Buffer.from(canonicalJson(record)));
}

/** Whether what was signed before can't be continued after this record, so that a new tree has to begin with it. */
export function beginsTree({ seq, event }: TreeRecord): boolean {
  return seq === 1 || event.kind === "accepted_break" || event.kind === "accepted_loss";
}

/** Is told each record in order, once it is certain, and knows the newest tree. */
export class LogTrees {
  #origin = "";
  #first = 0;
  /** The newest tree without its last record. */
  #before = new CompactTree();
  #last: Hash32 | undefined;

  /**
   * Goes on with a tree whose last record has this leaf.
   *
   * @throws {RangeError} when the frontier can't be one
   */
  static from({ origin, first, before }: StoredTree, lastLeaf: Hash32): LogTrees {
    const trees = new LogTrees();
    trees.#origin = origin;
    trees.#first = first;
    trees.#before = CompactTree.from(before);
    trees.#last = lastLeaf;
    return trees;
  }

  add(record: TreeRecord, leaf: Hash32): void {
    if (beginsTree(record)) {
      this.#origin = treeOrigin(leaf);
      this.#first = record.seq;
      this.#before = new CompactTree();
    } else if (this.#last !== undefined) {
      this.#before.push(this.#last);
    }
    this.#last = leaf;
  }

  /** The newest tree; undefined before the first record. */
  get tree(): LogTree | undefined {
    if (this.#last === undefined) return undefined;
    return { origin: this.#origin, first: this.#first, size: this.#before.size + 1 };
  }

  /** The newest tree's root. */
  root(): Hash32 {
    const whole = CompactTree.from(this.#before.frontier());
    if (this.#last !== undefined) whole.push(this.#last);
    return whole.root();
  }

  /** What {@link LogTrees.from} goes on with, together with the last record. */
  store(): StoredTree {
    return { origin: this.#origin, first: this.#first, before: this.#before.frontier() };
  }
}
