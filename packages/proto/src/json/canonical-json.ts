/** The one way we spell a value as bytes, so that equal values have equal hashes. */

/**
 * Compact JSON with object keys in the order they were inserted, which for values that a schema made is the schema's order.
 *
 * No white space, no escape beyond those of RFC 8259 that JSON.stringify uses. Absent keys are left out, `undefined` never
 * written.
 *
 * @throws {TypeError} when the value isn't JSON (a BigInt, a cycle, or `undefined` itself)
 */
export function canonicalJson(value: unknown): string {
  const text: unknown = JSON.stringify(value);
  if (typeof text !== "string") throw new TypeError("expected a JSON value");
  return text;
}
