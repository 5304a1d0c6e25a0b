/** Merkle trees straight from the recursive definitions of RFC 6962 (2.1), over whole lists of leaves: slow, and independent of what is tested. */
import { createHash } from "node:crypto";

function digest(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function split(count: number): number {
  let k = 1;
  while (k * 2 < count) k *= 2;
  return k;
}

/** MTH(D). */
export function naiveRoot(leaves: readonly Uint8Array[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return digest();
  if (leaves.length === 1) return digest(Buffer.of(0), only);
  const k = split(leaves.length);
  return digest(Buffer.of(1), naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)));
}

/** PATH(m, D). */
export function naivePath(m: number, leaves: readonly Uint8Array[]): readonly Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  return m < k
    ? [...naivePath(m, leaves.slice(0, k)), naiveRoot(leaves.slice(k))]
    : [...naivePath(m - k, leaves.slice(k)), naiveRoot(leaves.slice(0, k))];
}

function subproof(m: number, leaves: readonly Uint8Array[], isWhole: boolean): readonly Buffer[] {
  if (m === leaves.length) return isWhole ? [] : [naiveRoot(leaves)];
  const k = split(leaves.length);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), isWhole), naiveRoot(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), naiveRoot(leaves.slice(0, k))];
}

/** PROOF(m, D). */
export function naiveConsistency(m: number, leaves: readonly Uint8Array[]): readonly Buffer[] {
  return subproof(m, leaves, true);
}
