/** How the schema of one message is written. */
import { z } from "zod";

/** The schema of `{kind, body}`, strict in both. */
export function message<K extends string, S extends z.core.$ZodLooseShape>(
  kind: K,
  body: S,
): z.ZodReadonly<z.ZodObject<{ kind: z.ZodLiteral<K>; body: z.ZodReadonly<z.ZodObject<S, z.core.$strict>> }, z.core.$strict>> {
  return z.strictObject({ kind: z.literal(kind), body: z.strictObject(body).readonly() }).readonly();
}
