/** What a tool says: the content of the answer frame. */

/** `failed`: the tool could not do what was asked, and `content` says why. */
export interface ToolResult {
  readonly status: "ok" | "failed";
  readonly content: string;
  readonly truncated: boolean;
}

/** The tool did what was asked. */
export function succeed(content: string, truncated: boolean = false): ToolResult {
  return { status: "ok", content, truncated };
}

/** The tool could not do it. `subject` is what the problem is about, as the model wrote it. */
export function fail(tool: string, subject: string, problem: string): ToolResult {
  return { status: "failed", content: `${tool}: ${subject}: ${problem}`, truncated: false };
}
