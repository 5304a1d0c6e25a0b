/** What has to be kept of a Merkle tree to go on with it: the roots of its largest complete subtrees, one per level at most. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { SafeInteger } from "../ids/integers.ts";
import { EMPTY_ROOT, hashChildren } from "./merkle-hash.ts";

const MAX_LEVELS = 53;

/** A tree as it is stored: how many leaves, and the roots of its complete subtrees, the largest first. */
export const Frontier = z.strictObject({ size: SafeInteger, hashes: z.array(Hash32).max(MAX_LEVELS).readonly() }).readonly();
export type Frontier = z.infer<typeof Frontier>;

interface Subtree {
  readonly level: number;
  readonly hash: Hash32;
}

/** A growing tree in memory that grows with the logarithm of its size; a leaf costs one hash more, on average. */
export class CompactTree {
  #size = 0;
  /** From the largest subtree to the smallest, which is the last one and may be a single leaf. */
  readonly #subtrees: Subtree[] = [];

  /**
   * Goes on with a stored tree.
   *
   * @throws {RangeError} when there are not as many hashes as the size has subtrees
   */
  static from({ size, hashes }: Frontier): CompactTree {
    const tree = new CompactTree();
    const levels = levelsOf(size);
    if (levels.length !== hashes.length) throw new RangeError(`expected ${levels.length} hashes for a tree of ${size} leaves`);
    tree.#size = size;
    for (const [index, hash] of hashes.entries()) tree.#subtrees.push({ level: levels[index] ?? 0, hash });
    return tree;
  }

  /** The number of leaves. */
  get size(): number {
    return this.#size;
  }

  /** Adds a leaf by its hash. */
  push(leaf: Hash32): void {
    let level = 0;
    let hash = leaf;
    for (let last = this.#subtrees.at(-1); last?.level === level; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop();
      hash = hashChildren(last.hash, hash);
      level++;
    }
    this.#subtrees.push({ level, hash });
    this.#size++;
  }

  /** The Merkle tree hash of all leaves so far. */
  root(): Hash32 {
    let root: Hash32 | undefined;
    for (const { hash } of this.#subtrees.toReversed()) root = root === undefined ? hash : hashChildren(hash, root);
    return root ?? EMPTY_ROOT;
  }

  /** What {@link CompactTree.from} goes on with. */
  frontier(): Frontier {
    return { size: this.#size, hashes: this.#subtrees.map(({ hash }) => hash) };
  }
}

/** The levels of the complete subtrees of a tree of `size` leaves: the ones in its binary digits, the highest first. */
function levelsOf(size: number): readonly number[] {
  const digits = size.toString(2);
  return [...digits].flatMap((digit, index) => (digit === "1" ? [digits.length - 1 - index] : []));
}
