/** The text of a grant that the owner gives a session in chat: what is checked, recorded and shown back is this. */
import type { SessionId, Timestamp, ToolName } from "@boxmaker/proto";

export interface SessionGrantTerms {
  readonly id: string;
  readonly session: SessionId;
  readonly tool: ToolName;
  /** As the owner typed it: whether it is a path or a host that can be granted is for the checker to say. */
  readonly scope: string;
  readonly uses: number | null;
  readonly expires: Timestamp;
}

/** A text in quotes that TOML reads back as it is, whatever it holds. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

export function sessionGrantText({ id, session, tool, scope, uses, expires }: SessionGrantTerms): string {
  const lines = [
    `id = ${quote(id)}`,
    `tool = ${quote(tool)}`,
    'mode = "auto"',
    `session = ${quote(session)}`,
    ...(uses === null ? [] : [`uses = ${uses}`]),
    `expires = ${expires}`,
    "",
    "[constraints]",
    `${tool === "http_fetch" ? "hosts" : "paths"} = [${quote(scope)}]`,
  ];
  return `${lines.join("\n")}\n`;
}
