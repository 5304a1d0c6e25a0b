/** SHA-256 hashes as text. */
import { z } from "zod";

/** 32 bytes as 64 lower-case hex digits. */
export const Hash32 = z
  .string()
  .regex(/^[0-9a-f]{64}$/u, "expected 64 lower-case hex digits")
  .brand<"Hash32">();
export type Hash32 = z.infer<typeof Hash32>;
