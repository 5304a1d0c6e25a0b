/** What has to be kept of a Merkle tree to go on with it: the roots of its largest complete subtrees, one per level at most. */
import type { Hash32 } from "../ids/hash32.ts";
import type { Frontier } from "./frontier.ts";
import { EMPTY_ROOT, hashChildren } from "./merkle-hash.ts";

/** A complete subtree: the root of `2 ** level` leaves. */
export interface Subtree {
  readonly level: number;
  readonly hash: Hash32;
}

/** A growing tree in memory that grows with the logarithm of its size; a leaf costs one hash more, on average. */
export class CompactTree {
  /** The index of the first leaf in the tree that this is, or is a part of. */
  readonly #start: number;
  #size = 0;
  /** In order of the leaves; of a whole tree from the largest to the smallest, which is the last one and may be a single leaf. */
  readonly #subtrees: Subtree[] = [];

  /** @param start where it begins as a part of a larger tree, for {@link CompactTree.append} to that tree; such a part has no root */
  constructor(start = 0) {
    this.#start = start;
  }

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
    this.#add({ level: 0, hash: leaf });
  }

  /** Adds the leaves of a part that begins where this ends. */
  append(subtrees: readonly Subtree[]): void {
    for (const subtree of subtrees) this.#add(subtree);
  }

  /** The complete subtrees, in order of the leaves. */
  get subtrees(): readonly Subtree[] {
    return this.#subtrees;
  }

  #add(added: Subtree): void {
    const leaves = 2 ** added.level;
    const end = this.#start + this.#size + leaves;
    let { level, hash } = added;
    // Neighbours of one size make a subtree only where one begins in the whole tree: behind a multiple of its size.
    for (let last = this.#subtrees.at(-1); last?.level === level && end % 2 ** (level + 1) === 0; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop();
      hash = hashChildren(last.hash, hash);
      level++;
    }
    this.#subtrees.push({ level, hash });
    this.#size += leaves;
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
