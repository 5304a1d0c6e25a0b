/** How many columns text takes on a terminal: never fewer than it takes in fact, as far as a program can know. */

/** East Asian wide and fullwidth letters, and what is drawn as a picture. Blocks are taken whole: a column too many does no harm. */
const WIDE =
  /[\u1100-\u11ff\u231a\u231b\u2329\u232a\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe10-\ufe6f\uff00-\uffef\u{16fe0}-\u{18fff}\u{1aff0}-\u{1b2ff}\u{1f000}-\u{1faff}\u{20000}-\u{3ffff}]|\p{Emoji_Presentation}/u;
const COMBINING = /^[\p{Mn}\p{Me}]$/u;

const ASCII = /^[\x20-\x7e]*$/u;

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** What a reader sees as one character each. */
export function splitGraphemes(text: string): readonly string[] {
  if (ASCII.test(text)) return text.split("");
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The columns of escaped text without newline and tab. */
export function measureText(text: string): number {
  if (ASCII.test(text)) return text.length;
  let columns = 0;
  for (const character of text) {
    if (WIDE.test(character)) columns += 2;
    else if (!COMBINING.test(character)) columns += 1;
  }
  return columns;
}

/** Whether a row may be broken after this character though no space follows. */
export function isWide(text: string): boolean {
  return WIDE.test(text);
}
