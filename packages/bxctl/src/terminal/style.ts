/** Colour, where there is a terminal that wants it. */
import type { TextStream } from "../process-io.ts";

/** Each takes text that is safe to print, and marks it. Without colour they return it as it is. */
export interface Style {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
}

function sgr(on: number, off: number): (text: string) => string {
  return (text) => (text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`);
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
