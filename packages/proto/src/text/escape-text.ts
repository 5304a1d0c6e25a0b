/**
 * Makes text that a model, a tool or a peer wrote safe to print on a terminal or in a log.
 */

/**
 * What is escaped: every control, format (bidi, zero-width, tags), surrogate, private and unassigned code point, line and
 * paragraph separators, what is invisible by default (fillers, variation selectors), and the two blank symbols.
 *
 * Joiners and variation selectors of emoji and of some scripts are among them: a reader loses a ligature, where otherwise two
 * different texts would look the same.
 */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/gu;
const UNSAFE_BUT_LAYOUT = new RegExp(`(?![\\n\\t])${UNSAFE.source}`, "gu");

function escapeCodePoint(character: string): string {
  let escaped = "";
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}

/**
 * Escapes `text` as `\uXXXX` per UTF-16 unit so that it stays on one line and can't steer a terminal.
 *
 * Control (C0, DEL, C1), zero-width, bidi, line-separator, tag and unassigned characters and lone surrogates are escaped;
 * everything else, backslashes included, is left as it is. Use {@link quoteText} where the end of the text must be visible.
 */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, escapeCodePoint);
}

/** As {@link escapeText}, but keeps newline and tab: for the model's answers and tool output shown to the owner. */
export function escapeLayoutText(text: string): string {
  return text.replace(UNSAFE_BUT_LAYOUT, escapeCodePoint);
}

/**
 * Escapes `text` and puts it in double quotes, with `"` and `\` escaped, so that nothing inside can look like what follows it.
 */
export function quoteText(text: string): string {
  return `"${escapeText(text.replace(/["\\]/gu, "\\$&"))}"`;
}
