/** The tools that are in every prompt, and that loopd answers itself. */
import { z } from "zod";

export const ClockArguments = z.strictObject({}).readonly().describe("Tells the time now, in UTC.");

export const FindToolArguments = z
  .strictObject({ query: z.string().max(1_000).describe("Words that say what you need; empty for all tools") })
  .readonly()
  .describe(
    "Finds tools and how to call them: for reading and writing files, running shell commands, fetching URLs, and more. Call one with call_tool.",
  );

/** What the model is told. What it sends is read leniently: see resolve-call. */
export const CallToolArguments = z
  .strictObject({
    name: z.string().describe("The tool's name, as find_tool gave it"),
    arguments: z.record(z.string(), z.unknown()).describe("The tool's arguments"),
  })
  .readonly()
  .describe("Calls a tool that find_tool has found.");

export const CLOCK = "clock";
export const FIND_TOOL = "find_tool";
export const CALL_TOOL = "call_tool";
