/** Ids as llama-server makes them. */
import { randomBytes } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** 32 random letters and digits. */
export function randomId(): string {
  return Array.from(randomBytes(32), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}
