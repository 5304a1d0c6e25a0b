/** The hashes of an RFC 6962 Merkle tree. Leaves and nodes have different prefixes, so that neither can be taken for the other. */
import type { Hash32 } from "../ids/hash32.ts";
import { sha256 } from "../ids/sha256.ts";

const LEAF_PREFIX = 0x00;
const NODE_PREFIX = 0x01;
const HASH_BYTES = 32;

/** The root of the tree without leaves. */
export const EMPTY_ROOT: Hash32 = sha256("");

/** What is hashed, after its prefix: one buffer for all, since a log has millions of leaves. */
const LEAF = Buffer.alloc(1 + 4096, LEAF_PREFIX);
/** Its beginnings, by their length: most lines have one of a few lengths. */
const LEAVES: Buffer[] = [];
const NODE = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX);

function leafBytes(length: number): Buffer {
  if (length > LEAF.length) return Buffer.alloc(length, LEAF_PREFIX);
  const known = LEAVES[length];
  if (known !== undefined) return known;
  const bytes = LEAF.subarray(0, length);
  LEAVES[length] = bytes;
  return bytes;
}

/** The hash of a leaf; of an audit log, the bytes of a record's line without its newline. */
export function hashLeaf(data: Uint8Array): Hash32 {
  const bytes = leafBytes(1 + data.length);
  bytes.set(data, 1);
  return sha256(bytes);
}

/** The hash of the node above two others. */
export function hashChildren(left: Hash32, right: Hash32): Hash32 {
  NODE.write(left, 1, HASH_BYTES, "hex");
  NODE.write(right, 1 + HASH_BYTES, HASH_BYTES, "hex");
  return sha256(NODE);
}
