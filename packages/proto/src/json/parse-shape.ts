/** From unknown data to a value of one shape, or one line that says what is wrong with it. */
import type { z } from "zod";
import { escapeText } from "../text/escape-text.ts";
import { readJson, readJsonBytes } from "./read-json.ts";

/** A parsed value, or one printable line that names the place and what was expected there. */
export type Parsed<T> = { readonly kind: "ok"; readonly value: T } | { readonly kind: "invalid"; readonly problem: string };

/** In characters, before they are escaped. */
const MAX_PROBLEM = 300;

function describe(error: z.ZodError): string {
  const [first] = error.issues;
  if (first === undefined) return "wrong shape";
  const place = first.path.length === 0 ? "" : `${first.path.map(String).join(".")}: `;
  // Cut first: a message may hold a peer's keys, all of them, and escaping is what makes half a surrogate pair whole text again.
  return escapeText(`${place}${first.message}`.slice(0, MAX_PROBLEM));
}

/**
 * Checks `data` against `schema`. The problem names the first fault; keys that a peer chose appear in it escaped.
 *
 * A value of one of our own schemas is new and frozen at every depth.
 */
export function parseShape<T>(schema: z.ZodType<T>, data: unknown): Parsed<T> {
  const result = schema.safeParse(data);
  return result.success ? { kind: "ok", value: result.data } : { kind: "invalid", problem: describe(result.error) };
}

/** Reads JSON text strictly (see readJson) and checks it against `schema`. */
export function parseJson<T>(schema: z.ZodType<T>, text: string): Parsed<T> {
  const reading = readJson(text);
  return reading.kind === "value" ? parseShape(schema, reading.value) : reading;
}

/** As {@link parseJson}, from UTF-8 bytes. */
export function parseJsonBytes<T>(schema: z.ZodType<T>, bytes: Uint8Array): Parsed<T> {
  const reading = readJsonBytes(bytes);
  return reading.kind === "value" ? parseShape(schema, reading.value) : reading;
}
