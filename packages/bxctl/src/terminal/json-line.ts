/** Values for scripts: one JSON document a line. */
import { canonicalJson, escapeText } from "@boxmaker/proto";

/**
 * One line of JSON with its newline, in which every character that could steer a terminal is written as `\uXXXX`. Such characters
 * occur inside strings only, where that is the same text.
 */
export function jsonLine(value: unknown): string {
  return `${escapeText(canonicalJson(value))}\n`;
}
