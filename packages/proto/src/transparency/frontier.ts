/** A tree as it is stored. */
import { z } from "zod";
import { Hash32 } from "../ids/hash32.ts";
import { SafeInteger } from "../ids/integers.ts";

const MAX_LEVELS = 53;

/** How many leaves, and the roots of the tree's largest complete subtrees, the largest first: one per level at most. */
export const Frontier = z.strictObject({ size: SafeInteger, hashes: z.array(Hash32).max(MAX_LEVELS).readonly() }).readonly();
export type Frontier = z.infer<typeof Frontier>;
