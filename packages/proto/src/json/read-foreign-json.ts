/** JSON in the formats of others, which we read leniently: the grammar only, so that a fraction or a duplicate key is no error. */
import type { JsonReading } from "./read-json.ts";

/**
 * Reads one JSON text by the grammar alone (RFC 8259): fractions are kept, the last of duplicate keys wins, lone surrogates stay.
 *
 * Never for a format of ours, and never for what policy judges: see readJson.
 */
export function readForeignJson(text: string): JsonReading {
  try {
    const value: unknown = JSON.parse(text);
    return { kind: "value", value };
  } catch {
    // V8's message quotes the input, so it isn't passed on.
    return { kind: "invalid", problem: "not JSON" };
  }
}
