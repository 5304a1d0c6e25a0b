/** The hashes of an RFC 6962 Merkle tree. Leaves and nodes have different prefixes, so that neither can be taken for the other. */
import type { Hash32 } from "../ids/hash32.ts";
import { sha256 } from "../ids/sha256.ts";

const LEAF_PREFIX = 0x00;
const NODE_PREFIX = 0x01;
const HASH_BYTES = 32;

/** The root of the tree without leaves. */
export const EMPTY_ROOT: Hash32 = sha256("");

/** The hash of a leaf; of an audit log, the bytes of a record's line without its newline. */
export function hashLeaf(data: Uint8Array): Hash32 {
  const bytes = Buffer.allocUnsafe(1 + data.length);
  bytes[0] = LEAF_PREFIX;
  bytes.set(data, 1);
  return sha256(bytes);
}

/** The hash of the node above two others. */
export function hashChildren(left: Hash32, right: Hash32): Hash32 {
  const bytes = Buffer.allocUnsafe(1 + 2 * HASH_BYTES);
  bytes[0] = NODE_PREFIX;
  bytes.write(left, 1, HASH_BYTES, "hex");
  bytes.write(right, 1 + HASH_BYTES, HASH_BYTES, "hex");
  return sha256(bytes);
}
