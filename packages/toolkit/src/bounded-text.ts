/** Bytes of any kind as text of a bounded size. */

/** `dropped`: how many of the bytes are not in the text. */
export interface BoundedText {
  readonly text: string;
  readonly dropped: number;
}

/**
 * The text of as many of the first bytes as have at most `cap` bytes in UTF-8. What isn't UTF-8 becomes U+FFFD, which is up to three
 * times as long as what it stands for. `isCut`: more bytes followed, so that a character that was cut in two is left out, not replaced.
 */
export function boundText(bytes: Buffer, cap: number, isCut: boolean): BoundedText {
  const whole = bytes.length <= cap ? decode(bytes, isCut) : undefined;
  if (whole !== undefined && Buffer.byteLength(whole) <= cap) return { text: whole, dropped: 0 };
  let [fits, end] = [0, Math.min(bytes.length, cap) + 1];
  while (end - fits > 1) {
    const middle = Math.floor((fits + end) / 2);
    if (Buffer.byteLength(decode(bytes.subarray(0, middle), true)) <= cap) fits = middle;
    else end = middle;
  }
  return { text: decode(bytes.subarray(0, fits), true), dropped: bytes.length - fits };
}

function decode(bytes: Buffer, isCut: boolean): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: isCut });
}
