/** From the text of a grant file to a grant, or to everything that is wrong with the file by itself. */
import { parseToml, readToml, type TomlPath, type TomlProblem } from "@boxmaker/edge/toml";
import type { z } from "zod";
import { GRANT_FILE_KEYS, GrantFile } from "../rules/grant.ts";
import { checkGrantFile, type PartialGrantFile } from "./check-grant-file.ts";

/** What one file says. With any problem it gives no grant, but what could be read of it is still compared with the other files. */
export interface ParsedGrantFile {
  /** The whole file, where nothing is wrong with it by itself. */
  readonly whole: GrantFile | undefined;
  readonly parts: PartialGrantFile;
  readonly problems: readonly TomlProblem[];
  readonly lineOf: (path: TomlPath) => number;
}

/** The value at a key where it has the right shape. */
function part<T>(schema: z.ZodType<T>, raw: Readonly<Record<string, unknown>>, key: string): T | undefined {
  const result = schema.safeParse(raw[key]);
  return result.success ? result.data : undefined;
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readParts(value: unknown): PartialGrantFile {
  if (!isTable(value)) return {};
  const keys = GRANT_FILE_KEYS;
  const parts = {
    id: part(keys.id, value, "id"),
    tool: part(keys.tool, value, "tool"),
    mode: part(keys.mode, value, "mode"),
    max_taint: part(keys.max_taint, value, "max_taint"),
    if_untrusted: part(keys.if_untrusted, value, "if_untrusted"),
    label: part(keys.label, value, "label"),
    untrusted: part(keys.untrusted, value, "untrusted"),
    expires: part(keys.expires, value, "expires"),
    uses: part(keys.uses, value, "uses"),
    constraints: part(keys.constraints, value, "constraints"),
    examples: part(keys.examples, value, "examples"),
  };
  return Object.fromEntries(Object.entries(parts).filter(([, found]) => found !== undefined));
}

/** Reads a grant file. All problems that can be told from it alone are found at once. */
export function parseGrantFile(text: string): ParsedGrantFile {
  const parsed = parseToml(GrantFile, text);
  if (parsed.kind === "ok") {
    const { value, lineOf } = parsed;
    const problems = checkGrantFile(value, lineOf);
    return { whole: problems.length === 0 ? value : undefined, parts: value, problems, lineOf };
  }
  const reading = readToml(text);
  if (reading.kind === "invalid") return { whole: undefined, parts: {}, problems: parsed.problems, lineOf: () => 1 };
  const parts = readParts(reading.value);
  return {
    whole: undefined,
    parts,
    problems: [...parsed.problems, ...checkGrantFile(parts, reading.lineOf)],
    lineOf: reading.lineOf,
  };
}
