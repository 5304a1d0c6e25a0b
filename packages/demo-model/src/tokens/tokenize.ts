/** Tokens that are good enough to count and to compare: pieces of words. */

const TOKEN = /<\|[a-z_]+\|>|[ \t]?[^\s<]{1,6}|\s|</gu;

/** Cuts `text` into tokens. A text that goes on after a special token such as `<|im_end|>` keeps the tokens before it. */
export function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

/** A number for a token, the same for equal tokens. */
export function tokenId(token: string): number {
  let hash = 2_166_136_261;
  for (const byte of Buffer.from(token)) {
    hash = Math.imul(hash ^ byte, 16_777_619) >>> 0;
  }
  return hash % 151_000;
}

/** How many tokens `left` and `right` have in common from the start. */
export function commonPrefix(left: readonly string[], right: readonly string[]): number {
  const end = Math.min(left.length, right.length);
  let count = 0;
  while (count < end && left[count] === right[count]) {
    count += 1;
  }
  return count;
}
