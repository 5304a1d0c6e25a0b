/** One thing that doctor looked at, as a line for the owner. */
import { escapeText } from "@boxmaker/proto";

/** `skipped`: it can't be looked at, or there is nothing to look at yet; the text says what would have to be there. */
export interface Check {
  readonly result: "ok" | "failed" | "skipped";
  readonly name: string;
  /** What was found and, where it isn't right, what to do. */
  readonly text: string;
}

const WORDS: Readonly<Record<Check["result"], string>> = { ok: "ok     ", failed: "FAILED ", skipped: "skipped" };

/** The check as one line of text, or of JSON. */
export function showCheck({ result, name, text }: Check, asJson: boolean): string {
  if (asJson) return `${escapeText(JSON.stringify({ result, name, text }))}\n`;
  return `${WORDS[result]} ${escapeText(name)}: ${escapeText(text)}\n`;
}
