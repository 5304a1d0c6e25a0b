/** Colour, where there is a terminal that wants it. */
import { escapeLayoutText } from "@boxmaker/proto";
import type { TextStream } from "../process-io.ts";

/** Each takes text that is safe to print, and marks it. Without colour they return it as it is. */
export interface Style {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
}

const ESCAPE = "\u001b";

function sgr(on: number, off: number): (text: string) => string {
  return (text) => (text === "" ? "" : `${ESCAPE}[${on}m${text}${ESCAPE}[${off}m`);
}

const COLOUR: Style = { dim: sgr(2, 22), bold: sgr(1, 22), red: sgr(31, 39), yellow: sgr(33, 39) };

function same(text: string): string {
  return text;
}

const PLAIN: Style = { dim: same, bold: same, red: same, yellow: same };

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether `stream` is a terminal that understands more than lines of text. */
export function isCapableTerminal(stream: TextStream, env: Environment): boolean {
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

/** Colour on a capable terminal, unless `NO_COLOR` is set to anything (no-color.org); plain text elsewhere. */
export function styleFor(stream: TextStream, env: Environment): Style {
  const unwanted = env["NO_COLOR"];
  return isCapableTerminal(stream, env) && (unwanted === undefined || unwanted === "") ? COLOUR : PLAIN;
}

const OWN = new RegExp(`(${ESCAPE}\\[(?:1|2|22|31|33|39)m)`, "u");

/** Escapes what could steer a terminal, newline, tab and (where `style` has any) our own colours apart. Escaped text stays as it is. */
export function escapePrinted(text: string, style: Style): string {
  if (style === PLAIN) return escapeLayoutText(text);
  const pieces = text.split(OWN);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : escapeLayoutText(piece))).join("");
}
