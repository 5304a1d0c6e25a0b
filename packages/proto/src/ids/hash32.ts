/** SHA-256 hashes as text. */
import { hash } from "node:crypto";
import { z } from "zod";

/** 32 bytes as 64 lower-case hex digits. */
export const Hash32 = z
  .string()
  .regex(/^[0-9a-f]{64}$/u, "expected 64 lower-case hex digits")
  .brand<"Hash32">();
export type Hash32 = z.infer<typeof Hash32>;

/** The `prev` of the first record of an audit log. */
export const ZERO_HASH: Hash32 = Hash32.parse("0".repeat(64));

/** The SHA-256 of bytes, or of a string's UTF-8. */
export function sha256(data: string | Uint8Array): Hash32 {
  return hash("sha256", data, "hex") as Hash32;
}
