/** Which tools there are, as the model is told. Their schemas are those that brokerd reads the arguments with. */
import { canonicalJson, TOOL_ARGUMENTS } from "@boxmaker/proto";
import { z } from "zod";
import { CALL_TOOL, CallToolArguments, CLOCK, ClockArguments, FIND_TOOL, FindToolArguments } from "./core-tools.ts";

/** One tool for the model. `parameters` is its JSON Schema. */
interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Words beyond the description by which a tool is found. */
const KEYWORDS: Readonly<Record<keyof typeof TOOL_ARGUMENTS, string>> = {
  read_file: "open show view cat load notes document contents",
  write_file: "save create edit change append notes document",
  shell: "run execute bash terminal program list directory files search grep",
  http_fetch: "get download web page internet website http https",
};

function describe(name: string, schema: z.ZodType): ToolDescription {
  const { $schema: _, description, readOnly: __, ...parameters } = z.toJSONSchema(schema, { io: "input" });
  return { name, description: description ?? "", parameters };
}

const CORE: readonly ToolDescription[] = [
  describe(CLOCK, ClockArguments),
  describe(FIND_TOOL, FindToolArguments),
  describe(CALL_TOOL, CallToolArguments),
];

const FOUND = Object.entries(TOOL_ARGUMENTS).map(([name, schema]) => describe(name, schema));

/** The JSON text of the tools that are in every prompt: the same for a whole epoch, kept in its baseline. */
export function coreToolsText(): string {
  return canonicalJson(CORE.map((tool) => ({ type: "function", function: tool })));
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function keywordsOf(name: string): string {
  return Object.entries(KEYWORDS).find(([tool]) => tool === name)?.[1] ?? "";
}

/**
 * Answers `find_tool`: the tools that any word of the query fits, best first, as JSON; all of them where it names nothing we know, so
 * that a model that asks in other words still gets further. Only what `call_tool` takes is offered.
 */
export function findTools(query: string): string {
  const wanted = new Set(wordsOf(query));
  const scored = FOUND.map((tool) => {
    const has = new Set(wordsOf(`${tool.name.replaceAll("_", " ")} ${tool.description} ${keywordsOf(tool.name)}`));
    return { tool, score: [...wanted].filter((word) => has.has(word) || word === tool.name).length };
  }).sort((a, b) => b.score - a.score);
  const fitting = scored.filter(({ score }) => score > 0);
  return canonicalJson({ tools: (fitting.length > 0 ? fitting : scored).map(({ tool }) => tool) });
}
