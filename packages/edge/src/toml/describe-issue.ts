/** Says what is wrong with a value in a TOML file: what was expected there, and what stands there. */
import { quoteText } from "@boxmaker/proto";
import type { z } from "zod";

const MAX_SHOWN = 100;

const TYPES: Readonly<Record<string, string>> = {
  string: "a text in quotes",
  number: "a number",
  int: "a number",
  boolean: "true or false",
  date: "a time",
  array: "a list",
  tuple: "a list",
  object: "a table",
  record: "a table",
};

/** A single value as the file could have it; undefined for lists and tables, which the line shows well enough. */
function showValue(value: unknown): string | undefined {
  if (typeof value === "string") return quoteText(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : undefined;
}

function showKind(value: unknown): string | undefined {
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "a table" : undefined;
}

/** What was expected, for schemas that don't say it in words of their own; undefined leaves it to zod. */
export function describeExpectation(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_value") {
    const values = issue.values.map((value) => showValue(value) ?? String(value));
    return values.length === 1 ? `expected ${values.join("")}` : `expected one of ${values.join(", ")}`;
  }
  if (issue.code === "invalid_type") return `expected ${TYPES[issue.expected] ?? issue.expected}`;
  if (issue.code !== "too_small" && issue.code !== "too_big") return undefined;
  if (issue.origin !== "number" && issue.origin !== "int") return undefined;
  return issue.code === "too_small" ? `expected ${issue.minimum} or more` : `expected ${issue.maximum} at most`;
}

/** The text of an issue whose `message` says what was expected and whose `input` is what stands there. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  const { message, input } = issue;
  if (input === undefined) return issue.code === "custom" ? message : `missing, ${message}`;
  const found = showValue(input) ?? (issue.code === "invalid_type" ? showKind(input) : undefined);
  return found === undefined ? message : `${message}, got ${found}`;
}
