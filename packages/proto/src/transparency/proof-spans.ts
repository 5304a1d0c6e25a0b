/** Which subtrees make up a proof, and their hashes from one pass over the leaves. */
import type { Hash32 } from "../ids/hash32.ts";
import { CompactTree } from "./compact-tree.ts";

/** The leaves from `begin` to before `end`, whose hash is one line of a proof. */
export interface LeafSpan {
  readonly begin: number;
  readonly end: number;
}

/** The size of the left subtree of a tree of `size` leaves, at least 2: the largest power of two below it. */
function leftSize(size: number): number {
  return 2 ** ((size - 1).toString(2).length - 1);
}

/**
 * The proof that the leaf at `index` is in a tree of `size` leaves, from its sibling up.
 *
 * @throws {RangeError} when there is no such leaf
 */
export function inclusionSpans(index: number, size: number): readonly LeafSpan[] {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) throw new RangeError("expected the index of a leaf in the tree");
  const spans: LeafSpan[] = [];
  let begin = 0;
  let end = size;
  while (end - begin > 1) {
    const middle = begin + leftSize(end - begin);
    if (index < middle) {
      spans.push({ begin: middle, end });
      end = middle;
    } else {
      spans.push({ begin, end: middle });
      begin = middle;
    }
  }
  return spans.reverse();
}

/**
 * The proof that a tree of `size` leaves begins with those of one of `oldSize`.
 *
 * @throws {RangeError} when the older one is empty or larger
 */
export function consistencySpans(oldSize: number, size: number): readonly LeafSpan[] {
  if (!Number.isSafeInteger(oldSize) || oldSize < 1 || oldSize > size) throw new RangeError("expected a size from 1 to the tree's");
  const spans: LeafSpan[] = [];
  let begin = 0;
  let end = size;
  while (oldSize !== end) {
    const middle = begin + leftSize(end - begin);
    if (oldSize <= middle) {
      spans.push({ begin: middle, end });
      end = middle;
    } else {
      spans.push({ begin, end: middle });
      begin = middle;
    }
  }
  // The older tree's last subtree, unless it is that whole tree, whose root the verifier has.
  if (begin > 0) spans.push({ begin, end });
  return spans.reverse();
}

/** Collects the hashes of spans while the leaves of a tree are pushed, the first one first. Memory is flat. */
export class SpanHasher {
  readonly #spans: readonly LeafSpan[];
  readonly #trees: ReadonlyMap<LeafSpan, CompactTree>;
  #next = 0;

  /** @param spans none of which overlap */
  constructor(spans: readonly LeafSpan[]) {
    this.#spans = spans;
    this.#trees = new Map(spans.map((span) => [span, new CompactTree()]));
  }

  /** Takes the hash of the next leaf. */
  push(leaf: Hash32): void {
    const index = this.#next++;
    for (const [span, tree] of this.#trees) {
      if (index < span.begin || index >= span.end) continue;
      tree.push(leaf);
      return;
    }
  }

  /**
   * The hash of each span, in the order in which they were given.
   *
   * @throws {RangeError} when not all of their leaves have been pushed
   */
  hashes(): readonly Hash32[] {
    return this.#spans.map((span) => {
      const tree = this.#trees.get(span);
      if (tree?.size !== span.end - span.begin) throw new RangeError("expected all leaves of a proof's subtrees first");
      return tree.root();
    });
  }
}
