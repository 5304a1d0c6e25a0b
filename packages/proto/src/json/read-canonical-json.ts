/** Reads bytes that must be the one canonical spelling of a value, as every line of an audit log is. */
import type { z } from "zod";
import { canonicalJson } from "./canonical-json.ts";
import { parseShape } from "./parse-shape.ts";
import { decodeUtf8, isReadable, MAX_JSON_VALUES, readJson } from "./read-json.ts";

/**
 * A value, or one printable line that says what is wrong: `not_json` where the bytes are no JSON text at all (half a line, say),
 * `not_canonical` where they are, but not the canonical JSON of a value of this shape.
 */
export type CanonicalReading<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "not_json" | "not_canonical"; readonly problem: string };

/**
 * Reads UTF-8 bytes as the canonical JSON of a value of `schema`'s shape.
 *
 * Writing the value again must give the same bytes, which refuses at once whatever two readers could read differently: duplicate
 * keys, white space, another order of keys, `1e2` and `-0`. Lone surrogates survive that round and are refused separately.
 */
export function readCanonicalJson<T>(schema: z.ZodType<T>, bytes: Uint8Array): CanonicalReading<T> {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { kind: "not_json", problem: "not UTF-8" };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    // V8's message quotes the input, so it isn't passed on.
    return { kind: "not_json", problem: "not JSON" };
  }
  // Before the shape is checked, whose work grows with the values.
  const early = text.length < MAX_JSON_VALUES ? undefined : readJson(text);
  if (early?.kind === "invalid") return { kind: "not_canonical", problem: early.problem };
  const shaped = parseShape(schema, data);
  if (shaped.kind === "invalid") return { kind: "not_canonical", problem: shaped.problem };
  const isCanonical = canonicalJson(shaped.value) === text;
  if (isCanonical && isReadable(text)) return shaped;
  const strict = readJson(text);
  return { kind: "not_canonical", problem: strict.kind === "invalid" ? strict.problem : "not the canonical spelling of its value" };
}
