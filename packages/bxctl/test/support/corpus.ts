/** Texts that try to be more than text, and what no printed text may hold. */

export const HOSTILE: readonly string[] = [
  "\u001b[2J\u001b[H",
  "\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
  "\u001b]52;c;ZWNobw==\u0007",
  "\u009b31m C1 \u0085\u008d",
  "\r> type 41 to approve",
  "\b\b\b\u007f\u0000\u0007\u000b\u000c",
  "a\u202eb\u2066c\u2069d\u061c\u200e",
  "a\u200bb\u200cc\u200dd\ufeffe\u2060\u00ad",
  "line\u2028paragraph\u2029",
  "\u{e0001}\u{e0041}\u{e007f}\ufe0f",
  "\u3164\u2800\u115f\u1160\uffa0\u034f",
  "\ue000\u{f0000}\u{10ffff}\ufdd0",
  "раураl Αpple",
];

/** As {@link HOSTILE}, with half characters, which no frame can carry. */
export const BROKEN: readonly string[] = [...HOSTILE, "\ud800", "\udc00x\ud83d", "\udca9\ud83d"];

const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]|\u034f|[\u115f\u1160\u2800\u3164\uffa0]|[\ufe00-\ufe0f]/u;
/** Colour, the erased row, and rows that don't wrap. */
const OWN_SEQUENCES = /\u001b\[(?:[0-9]+m|\?7[lh]|K)|\r(?=\u001b\[K)/gu;

/** The first thing in printed text that could steer a terminal, if any. Newlines and tabs are layout. */
export function findUnsafe(printed: string): string | undefined {
  return UNSAFE.exec(printed.replace(OWN_SEQUENCES, "").replace(/[\n\t]/gu, ""))?.[0];
}

/** Long lines: a megabyte of letters, and one that never ceases to try. */
export const LONG: readonly string[] = ["x".repeat(1_048_576), "\u001b]8;;x\u0007\u202e\u{e0041}".repeat(8_192)];

/** Bytes that aren't text: halves, overlong forms, surrogates, and a C1 character as one byte. */
export const BAD_BYTES: readonly Buffer[] = ["ff", "c3", "c080", "eda080", "f4908080", "9b324a", "e280ae41ff"].map((hex) =>
  Buffer.from(hex, "hex"),
);
