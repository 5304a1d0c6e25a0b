/** Checks Merkle proofs, as RFC 9162 (2.1.3.2, 2.1.4.2) spells it out. What is checked may come from anybody. */
import type { Hash32 } from "../ids/hash32.ts";
import { hashChildren } from "./merkle-hash.ts";

/** That the leaf with hash `leaf` is at `index` of the tree with `size` leaves and this root. */
export interface InclusionClaim {
  readonly index: number;
  readonly size: number;
  readonly leaf: Hash32;
  readonly root: Hash32;
}

/** That the tree with `newSize` leaves begins with the leaves of the one with `oldSize`. */
export interface ConsistencyClaim {
  readonly oldSize: number;
  readonly oldRoot: Hash32;
  readonly newSize: number;
  readonly newRoot: Hash32;
}

const POWER_OF_TWO = /^10*$/u;

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0;
}

function isOdd(index: number): boolean {
  return index % 2 === 1;
}

function half(index: number): number {
  return Math.floor(index / 2);
}

/** Whether `proof`, from the leaf's sibling up, shows the claim. */
export function isIncluded({ index, size, leaf, root }: InclusionClaim, proof: readonly Hash32[]): boolean {
  if (!isSize(index) || !isSize(size) || index >= size) return false;
  let node = index;
  let last = size - 1;
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      hash = hashChildren(sibling, hash);
      // A node without a sibling is the same one a level up.
      while (!isOdd(node) && node !== 0) {
        node = half(node);
        last = half(last);
      }
    } else {
      hash = hashChildren(hash, sibling);
    }
    node = half(node);
    last = half(last);
  }
  return last === 0 && hash === root;
}

/** Whether `proof` shows the claim. A tree of no leaves shows nothing, so that it is never proved. */
export function isConsistent({ oldSize, oldRoot, newSize, newRoot }: ConsistencyClaim, proof: readonly Hash32[]): boolean {
  if (!isSize(oldSize) || !isSize(newSize) || oldSize === 0 || oldSize > newSize) return false;
  if (oldSize === newSize) return proof.length === 0 && oldRoot === newRoot;
  // A complete subtree of the newer tree is no line of the proof: the verifier has its root.
  const [first, ...rest] = POWER_OF_TWO.test(oldSize.toString(2)) ? [oldRoot, ...proof] : proof;
  if (first === undefined) return false;
  let node = oldSize - 1;
  let last = newSize - 1;
  while (isOdd(node)) {
    node = half(node);
    last = half(last);
  }
  let oldHash = first;
  let newHash = first;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      oldHash = hashChildren(sibling, oldHash);
      newHash = hashChildren(sibling, newHash);
      while (!isOdd(node) && node !== 0) {
        node = half(node);
        last = half(last);
      }
    } else {
      newHash = hashChildren(newHash, sibling);
    }
    node = half(node);
    last = half(last);
  }
  return last === 0 && oldHash === oldRoot && newHash === newRoot;
}
