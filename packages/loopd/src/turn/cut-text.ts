/** Shortens a result for the model, saying so. */

/** Text of at most `maxBytes` bytes of UTF-8, and whether anything was cut off. */
export interface CutText {
  readonly text: string;
  readonly cut: boolean;
}

/** Cuts `text` at a character's boundary. What is left out is said in a last line, which is inside the limit. */
export function cutText(text: string, maxBytes: number): CutText {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { text, cut: false };
  const note = `\n[cut: the first part of ${bytes.length} bytes]`;
  let end = Math.max(0, maxBytes - Buffer.byteLength(note));
  // A byte 10xxxxxx goes on with the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return { text: bytes.toString("utf8", 0, end) + note, cut: true };
}
