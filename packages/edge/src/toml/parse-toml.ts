/** From a TOML text to a value of one shape, or everything that is wrong with it. */
import { escapeText } from "@boxmaker/proto";
import type { z } from "zod";
import { describeExpectation, describeIssue } from "./describe-issue.ts";
import { readToml, type TomlPath } from "./read-toml.ts";

/** One fault: the line (from 1) and one printable line of text. */
export interface TomlProblem {
  readonly line: number;
  readonly problem: string;
}

export type TomlParsed<T> =
  | { readonly kind: "ok"; readonly value: T; readonly lineOf: (path: TomlPath) => number }
  | { readonly kind: "invalid"; readonly problems: readonly TomlProblem[] };

function toPath(path: readonly PropertyKey[]): TomlPath {
  return path.map((part) => (typeof part === "symbol" ? String(part) : part));
}

function describe(issue: z.core.$ZodIssue): { path: TomlPath; problem: string }[] {
  const path = toPath(issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: [...path, key], problem: `unknown key "${key}"` }));
  }
  const problem = describeIssue(issue);
  return [{ path, problem: path.length === 0 ? problem : `${path.join(".")}: ${problem}` }];
}

/** Reads `text` and checks it against `schema`; all problems at once, in the order of their lines. */
export function parseToml<T>(schema: z.ZodType<T>, text: string): TomlParsed<T> {
  const reading = readToml(text);
  if (reading.kind === "invalid") return { kind: "invalid", problems: [{ line: reading.line, problem: reading.problem }] };
  const result = schema.safeParse(reading.value, { error: describeExpectation, reportInput: true });
  if (result.success) return { kind: "ok", value: result.data, lineOf: reading.lineOf };
  const problems = result.error.issues
    .flatMap(describe)
    .map(({ path, problem }) => ({ line: reading.lineOf(path), problem: escapeText(problem) }))
    .sort((a, b) => a.line - b.line);
  return { kind: "invalid", problems };
}
