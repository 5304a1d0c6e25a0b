/** SHA-256 as text, without the schema of what it makes: threads that only read lines start sooner without a schema library. */
import { type Hash, hash } from "node:crypto";
import type { Hash32 } from "./hash32.ts";

/** The `prev` of the first record of an audit log. */
export const ZERO_HASH = "0".repeat(64) as Hash32;

/** The SHA-256 of bytes, or of a string's UTF-8. */
export function sha256(data: string | Uint8Array): Hash32 {
  return hash("sha256", data, "hex") as Hash32;
}

/** The end of a SHA-256 that was fed in pieces. */
export function digestOf(sha: Hash): Hash32 {
  return sha.digest("hex") as Hash32;
}
