/** Text of others inside Markdown: in a fence that it can't close. */
import { escapeLayoutText } from "@boxmaker/proto";

const SHORTEST_FENCE = 3;

/**
 * A fenced code block. Nothing in the text ends it: the fence is longer than any run of backticks inside, and what else could begin a line
 * is escaped. Inside a fence no reader looks for headings, links, images or HTML.
 */
export function fencedText(text: string): string {
  const shown = escapeLayoutText(text);
  const longest = (shown.match(/`+/gu) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
  const fence = "`".repeat(Math.max(SHORTEST_FENCE, longest + 1));
  return `${fence}text\n${shown}\n${fence}`;
}
