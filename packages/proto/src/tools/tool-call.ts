/** The tools and their arguments: one schema per tool for the model, policy, the audit log and the box. */
import { z } from "zod";
import { canonicalJson } from "../json/canonical-json.ts";
import { type Parsed, parseShape } from "../json/parse-shape.ts";
import { readJson } from "../json/read-json.ts";
import { AbsPath } from "./abs-path.ts";
import { FetchUrl } from "./fetch-url.ts";

/** The largest canonical arguments, in bytes (1 MiB). */
export const MAX_ARGUMENTS = 1024 * 1024;

const Text = z.string().refine((text) => text.isWellFormed(), "expected well-formed Unicode");

export const ReadFileArguments = z
  .strictObject({ path: AbsPath.describe("Absolute path of the file") })
  .readonly()
  .describe("Reads a UTF-8 text file of at most 1 MiB.");

export const WriteFileArguments = z
  .strictObject({
    path: AbsPath.describe("Absolute path of the file; its folder must exist"),
    content: Text.describe("The file's whole new text"),
  })
  .readonly()
  .describe("Writes a text file, replacing what was there.");

export const ShellArguments = z
  .strictObject({
    command: Text.refine((text) => text !== "" && !text.includes("\0"), "expected a command without NUL").describe(
      "Command line for /bin/sh",
    ),
    cwd: z.exactOptional(AbsPath.describe("Absolute path of the folder to run in")),
  })
  .readonly()
  .describe("Runs a command with /bin/sh in a box that sees only the granted folders.");

export const HttpFetchArguments = z
  .strictObject({ url: FetchUrl.describe("https://host/… or http://host/…") })
  .readonly()
  .describe("Fetches a URL.");

/** A tool and its typed arguments: what is decided, recorded, shown and run. */
export const ToolCall = z.discriminatedUnion("tool", [
  z.strictObject({ tool: z.literal("read_file"), arguments: ReadFileArguments }).readonly(),
  z.strictObject({ tool: z.literal("write_file"), arguments: WriteFileArguments }).readonly(),
  z.strictObject({ tool: z.literal("shell"), arguments: ShellArguments }).readonly(),
  z.strictObject({ tool: z.literal("http_fetch"), arguments: HttpFetchArguments }).readonly(),
]);
export type ToolCall = z.infer<typeof ToolCall>;

/** The tools that brokerd knows. */
export const ToolName = z.enum(["read_file", "write_file", "shell", "http_fetch"]);
export type ToolName = z.infer<typeof ToolName>;

/** Each tool's argument schema, for the model's prompt (as JSON Schema) and for parsing. */
export const TOOL_ARGUMENTS = {
  read_file: ReadFileArguments,
  write_file: WriteFileArguments,
  shell: ShellArguments,
  http_fetch: HttpFetchArguments,
} as const satisfies Record<ToolName, z.ZodType>;

/** A tool's name as a model wrote it: 1..128 well-formed characters. Whether there is such a tool is for policy to say. */
export const RequestedTool = Text.min(1).max(128);

/**
 * Parses a call's arguments from the JSON text that the model wrote.
 *
 * Refused: anything but one JSON object of the tool's shape, duplicate keys included, and canonical arguments above 1 MiB.
 */
export function parseToolCall(tool: ToolName, argumentsText: string): Parsed<ToolCall> {
  const reading = readJson(argumentsText);
  if (reading.kind === "invalid") return reading;
  const call = parseShape(ToolCall, { tool, arguments: reading.value });
  if (call.kind === "ok" && Buffer.byteLength(canonicalJson(call.value.arguments)) > MAX_ARGUMENTS) {
    return { kind: "invalid", problem: `arguments larger than ${MAX_ARGUMENTS} bytes` };
  }
  return call;
}
