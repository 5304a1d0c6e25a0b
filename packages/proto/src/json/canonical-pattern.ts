/**
 * The canonical JSON of a shape as a regular expression: what it matches is a value of the shape in its one spelling, so that millions of
 * lines can be checked without making millions of objects. It may match less than there is (its strings are printable ASCII without
 * escapes); what it doesn't match has to be read in full.
 */
import { z } from "zod";

/** A character of printable ASCII that JSON needs no escape for. */
export const PLAIN_CHARACTER = "[ !#-\\[\\]-~]";

export interface PatternOptions {
  /** For schemas whose checks are code: what matches only canonical JSON of that schema, quotes included. */
  readonly known: ReadonlyMap<z.core.$ZodType, string>;
  /** The member of the object itself, not of one in it, whose value is captured as it is written, by the only group there is. */
  readonly captured?: string;
}

function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&");
}

function either(patterns: readonly string[]): string {
  return `(?:${patterns.join("|")})`;
}

function literals(values: readonly unknown[]): string {
  return either(values.map((value) => escapeLiteral(JSON.stringify(value))));
}

function numberPattern({ minValue, maxValue, format, _zod: { def } }: z.ZodNumber): string {
  const bounds = new Set(["greater_than", "less_than"]);
  const isBounded = (def.checks ?? []).every((check) => bounds.has(check._zod.def.check));
  if (format !== "safeint" || maxValue !== Number.MAX_SAFE_INTEGER || !isBounded) {
    throw new TypeError("expected an integer up to 2^53-1");
  }
  // 2^53-1 has 16 digits, so every number of 15 is below it.
  if (minValue === 0) return "(?:0|[1-9][0-9]{0,14})";
  if (minValue === 1) return "[1-9][0-9]{0,14}";
  throw new TypeError("expected an integer from 0 or 1");
}

function objectPattern(shape: Readonly<Record<string, z.core.$ZodType>>, { known, captured }: PatternOptions): string {
  const members = Object.entries(shape).map(([key, schema]) => {
    const value = canonicalPattern(schema, { known });
    const text = `${escapeLiteral(JSON.stringify(key))}:${key === captured ? `(${value})` : value}`;
    return { text, isOptional: schema._zod.optin === "optional" };
  });
  if (!members.some(({ isOptional }) => isOptional)) return `\\{${members.map(({ text }) => text).join(",")}\\}`;
  // A comma stands only before another member.
  const parts = members.map(({ text, isOptional }) => `(?:${text}(?:,(?=")|(?=\\})))${isOptional ? "?" : ""}`);
  return `\\{${parts.join("")}\\}`;
}

/** What a schema is by itself, where it has no checks. */
function plainPattern(schema: z.core.$ZodType, options: PatternOptions): string {
  const inner = (part: z.core.$ZodType): string => canonicalPattern(part, { known: options.known });
  if (schema instanceof z.ZodString) return `"${PLAIN_CHARACTER}*"`;
  if (schema instanceof z.ZodBoolean) return "(?:true|false)";
  if (schema instanceof z.ZodLiteral) return literals([...schema.values]);
  if (schema instanceof z.ZodEnum) return literals(schema.options);
  if (schema instanceof z.ZodReadonly) return canonicalPattern(schema.def.innerType, options);
  if (schema instanceof z.ZodExactOptional) return inner(schema.def.innerType);
  if (schema instanceof z.ZodNullable) return `(?:null|${inner(schema.def.innerType)})`;
  if (schema instanceof z.ZodUnion) return either(schema.options.map(inner));
  if (schema instanceof z.ZodArray) {
    const element = inner(schema.element);
    return `\\[(?:${element}(?:,${element})*)?\\]`;
  }
  if (schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever) return objectPattern(schema.def.shape, options);
  throw new TypeError(`expected a known pattern for a ${schema._zod.def.type}`);
}

/**
 * The source of a regular expression for a schema, without anchors.
 *
 * @throws {TypeError} for a schema with checks that it can't express and whose pattern isn't known: it would match too much
 */
export function canonicalPattern(schema: z.core.$ZodType, options: PatternOptions): string {
  const pattern = options.known.get(schema);
  if (pattern !== undefined) return pattern;
  if (schema instanceof z.ZodNumber) return numberPattern(schema);
  const { checks, type } = schema._zod.def;
  if (checks !== undefined && checks.length > 0)
    throw new TypeError(`expected a known pattern for a ${type} with checks of its own`);
  return plainPattern(schema, options);
}
