/** What a program says besides its log: why it ends, that it is ready. */
import { escapeText } from "@boxmaker/proto";

/**
 * Says lines to whoever started the program.
 *
 * @param write takes each line, newline included
 * @param prefix before each line
 * @returns takes a line; nothing in it can steer a terminal or begin another line. Escaped text stays as it is
 */
export function openLinePrinter(write: (text: string) => void, prefix = ""): (line: string) => void {
  return (line) => write(`${escapeText(`${prefix}${line}`)}\n`);
}
