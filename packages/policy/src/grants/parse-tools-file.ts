/** `tools.toml`: what a call of a tool gets that no grant permits now. */
import { parseToml, type TomlProblem } from "@boxmaker/edge/toml";
import { DataClass, ToolName } from "@boxmaker/proto";
import { z } from "zod";
import { Effect } from "../rules/effect.ts";
import { TOOL_DEFAULTS } from "../rules/grant.ts";
import type { Otherwise } from "../rules/grant-set.ts";

const OtherwiseEffect = Effect.exclude(["auto"]);

const LIMITS = {
  max_taint: DataClass.optional(),
  if_untrusted: Effect.optional(),
  label: DataClass.optional(),
  untrusted: z.boolean().optional(),
} as const;

const ToolTable = z.strictObject({ otherwise: OtherwiseEffect, ...LIMITS }).readonly();
type ToolTable = z.infer<typeof ToolTable>;

/** One table for each tool that the owner says something of. */
export const ToolsFile = z
  .strictObject({
    read_file: ToolTable.optional(),
    write_file: ToolTable.optional(),
    shell: ToolTable.optional(),
    http_fetch: ToolTable.optional(),
  } satisfies Record<ToolName, z.ZodType>)
  .readonly();
export type ToolsFile = z.infer<typeof ToolsFile>;

/** What the file says of one tool. */
export type ToolRule = Omit<Otherwise, "sha256" | "reserved">;

/** The tools that the file lets ask: those that it denies are as those that it doesn't name. */
export interface ParsedToolsFile {
  readonly rules: ReadonlyMap<ToolName, ToolRule>;
  readonly problems: readonly TomlProblem[];
}

function completeRule(tool: ToolName, table: ToolTable): ToolRule {
  const defaults = TOOL_DEFAULTS[tool];
  return Object.freeze({
    effect: table.otherwise,
    maxTaint: table.max_taint ?? defaults.maxTaint,
    ifUntrusted: table.if_untrusted ?? defaults.ifUntrusted,
    label: table.label ?? defaults.label,
    untrusted: table.untrusted ?? defaults.untrusted,
  });
}

/** Reads the file. All problems that can be told from it alone are found at once. */
export function parseToolsFile(text: string): ParsedToolsFile {
  const parsed = parseToml(ToolsFile, text);
  if (parsed.kind === "invalid") return { rules: new Map(), problems: parsed.problems };
  const rules = new Map<ToolName, ToolRule>();
  const problems: TomlProblem[] = [];
  for (const tool of ToolName.options) {
    const table = parsed.value[tool];
    if (table === undefined) continue;
    if (table.otherwise === "ask") {
      rules.set(tool, completeRule(tool, table));
      continue;
    }
    for (const key of Object.keys(LIMITS).filter((limit) => limit in table)) {
      const problem = `${tool}.${key}: says nothing where otherwise = "deny"; take it out`;
      problems.push({ line: parsed.lineOf([tool, key]), problem });
    }
  }
  return { rules, problems };
}
