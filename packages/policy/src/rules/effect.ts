/** The three things that a rule can say about a call, and their order. */
import { z } from "zod";

/** `auto < ask < deny`: run it, run it once the owner has approved, don't run it. */
export const Effect = z.enum(["auto", "ask", "deny"]);
export type Effect = z.infer<typeof Effect>;

const ORDER: readonly Effect[] = Effect.options;

/** The less lenient of the two. */
export function stricter(a: Effect, b: Effect): Effect {
  return ORDER.indexOf(a) >= ORDER.indexOf(b) ? a : b;
}

/** The more lenient of the two. */
export function milder(a: Effect, b: Effect): Effect {
  return ORDER.indexOf(a) <= ORDER.indexOf(b) ? a : b;
}

/** Negative where `a` is stricter than `b`: sorts the most restrictive first. */
export function compareStrictestFirst(a: Effect, b: Effect): number {
  return ORDER.indexOf(b) - ORDER.indexOf(a);
}
