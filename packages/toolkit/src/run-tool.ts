/** From a request to the tool that serves it. */
import { type BoxRun, unreachable } from "@boxmaker/proto";
import { httpFetch } from "./fetch/http-fetch.ts";
import { findSwapped } from "./find-swapped.ts";
import { readFile } from "./read-file.ts";
import { shell } from "./shell.ts";
import { fail, type ToolResult } from "./tool-result.ts";
import { writeFile } from "./write-file.ts";

/** Runs the tool. What goes wrong with it is its result; only bugs are thrown. */
export async function runTool({ request, roots, mounts, output_cap: cap, fetch }: BoxRun["body"]): Promise<ToolResult> {
  const swapped = findSwapped(mounts);
  if (swapped !== undefined) return fail(request.tool, swapped, "is something else than what was decided about");
  switch (request.tool) {
    case "read_file":
      return readFile(request.arguments.path, roots, cap);
    case "write_file":
      return writeFile(request.arguments.path, request.arguments.content, roots);
    case "shell":
      return shell(request.arguments.command, request.arguments.cwd, cap);
    case "http_fetch":
      return httpFetch(request.arguments.url, fetch, cap);
    default:
      return unreachable(request);
  }
}
