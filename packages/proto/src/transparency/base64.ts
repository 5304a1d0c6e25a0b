/** Standard base64 with padding, in its one canonical spelling. */
import { Hash32 } from "../ids/hash32.ts";

const HASH_BYTES = 32;

/** The bytes, or undefined where the text isn't what would be written for them. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

/** A hash in base64. */
export function encodeHash(hash: Hash32): string {
  return Buffer.from(hash, "hex").toString("base64");
}

/** The hash, or undefined where the text isn't the base64 of 32 bytes. */
export function decodeHash(text: string): Hash32 | undefined {
  const bytes = decodeBase64(text);
  return bytes?.length === HASH_BYTES ? Hash32.parse(bytes.toString("hex")) : undefined;
}
