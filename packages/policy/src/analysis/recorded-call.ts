/** A call as its record has it, put together again from the record and the texts that the log keeps by hash. */
import {
  type BlobRef,
  canonicalJson,
  type DecisionEvent,
  type Hash32,
  parseToolCall,
  type ToolCall,
  ToolName,
} from "@boxmaker/proto";

/** Finds a text that the log keeps by hash; `undefined` where it is missing. */
export type TextOf = (sha256: Hash32) => string | undefined;

/**
 * The canonical arguments that were decided. For arguments that didn't parse, of which nothing but a hash is kept, an empty text, which
 * doesn't parse either. `undefined`: a text is missing.
 */
export function argumentsTextOf({ arguments: given }: DecisionEvent, textOf: TextOf): string | undefined {
  if (given.form === "unread") return "";
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(given.values)) {
    const text = isReference(value) ? textOf(value.sha256) : value;
    if (text === undefined) return undefined;
    values[name] = text;
  }
  return canonicalJson(values);
}

function isReference(value: string | BlobRef): value is BlobRef {
  return typeof value !== "string";
}

/** The call, where its arguments had been read and every text is there. */
export function recordedCall(event: DecisionEvent, textOf: TextOf): ToolCall | undefined {
  const tool = ToolName.safeParse(event.tool);
  const text = argumentsTextOf(event, textOf);
  if (!tool.success || text === undefined || event.arguments.form === "unread") return undefined;
  const parsed = parseToolCall(tool.data, text);
  return parsed.kind === "ok" ? parsed.value : undefined;
}

/** What a call is about, for a line of text: its path, command or URL as recorded; a long one by its size. */
export function targetOf({ arguments: given }: DecisionEvent): string {
  if (given.form === "unread") return `${given.text.bytes} bytes that don't fit the tool`;
  const { path, url, command, cwd } = given.values;
  const main = path ?? url ?? command;
  const shown = main === undefined ? "" : typeof main === "string" ? main : `${main.bytes} bytes`;
  return command === undefined || cwd === undefined ? shown : `${shown} in ${cwd}`;
}
