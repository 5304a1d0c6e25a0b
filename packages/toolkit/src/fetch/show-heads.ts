/** What is shown of the heads of a fetch's responses: so much at most that a server's words can't take the place of the body. */
import { escapeText } from "@boxmaker/proto";
import { boundText } from "../bounded-text.ts";

/** A response that was followed, and where to. */
export interface Hop {
  readonly statusLine: string;
  readonly href: string;
}

/** The lines before the notes on the body. `isCut`: one of them is longer, and the last says so. */
export interface ShownHeads {
  readonly lines: readonly string[];
  readonly isCut: boolean;
}

/** Each line but the last may have this part of all; there are eleven of them at most. */
const PARTS = 16;
const MARK = "…";

/** Shows every status line, every hop and the note on the last response in about `maxBytes` bytes, by a cut in each line that is too long. */
export function showHeads(hops: readonly Hop[], statusLine: string, note: string | null, maxBytes: number): ShownHeads {
  let isCut = false;
  const cut = (line: string, most: number): string => {
    const { text, dropped } = boundText(Buffer.from(line), most, false);
    isCut ||= dropped > 0;
    return dropped > 0 ? `${text}${MARK}` : text;
  };
  const part = Math.floor(maxBytes / PARTS);
  const status = (line: string): string => cut(escapeText(line), part);
  const lines = hops.flatMap((hop) => [status(hop.statusLine), `[followed to ${cut(hop.href, part)}]`]);
  lines.push(status(statusLine));
  const rest = maxBytes - Buffer.byteLength(lines.join("\n"));
  if (note !== null) lines.push(`[${cut(note, Math.max(part, rest))}]`);
  if (isCut) lines.push(`[lines above that end in ${MARK} are longer]`);
  return { lines, isCut };
}
