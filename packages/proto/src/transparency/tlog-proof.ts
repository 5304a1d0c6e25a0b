/** C2SP tlog-proof: a file that shows, without the log, that one record is in it. */
import type { Hash32 } from "../ids/hash32.ts";
import { decodeUtf8 } from "../json/read-json.ts";
import { quoteText } from "../text/escape-text.ts";
import { decodeBase64, decodeHash, encodeHash } from "./base64.ts";
import { readDecimal } from "./checkpoint.ts";
import { MAX_NOTE_BYTES, readSignedNote, type SignedNote, writeSignedNote } from "./signed-note.ts";

const HEADER = "c2sp.org/tlog-proof@v1";
const EXTRA = "extra ";
const INDEX = "index ";
const MAX_PROOF_BYTES = 2 * MAX_NOTE_BYTES;

/** `index` counts from 0; `hashes` go from the leaf's sibling up; `extra` is base64 of anything, which proves nothing. */
export interface TlogProof {
  readonly extra: string | null;
  readonly index: number;
  readonly hashes: readonly Hash32[];
  readonly note: SignedNote;
}

export type TlogProofReading =
  | { readonly kind: "ok"; readonly proof: TlogProof }
  | { readonly kind: "invalid"; readonly problem: string };

/** The proof as a file. */
export function writeTlogProof({ extra, index, hashes, note }: TlogProof): string {
  const lines = [HEADER, ...(extra === null ? [] : [`${EXTRA}${extra}`]), `${INDEX}${index}`, ...hashes.map(encodeHash)];
  return `${lines.join("\n")}\n\n${writeSignedNote(note)}`;
}

/** Reads a proof's form. Whether it proves anything is for `openNote` and `isIncluded` to say. */
export function readTlogProof(bytes: Uint8Array): TlogProofReading {
  const invalid = (problem: string): TlogProofReading => ({ kind: "invalid", problem });
  if (bytes.length > MAX_PROOF_BYTES) return invalid(`expected a proof of at most ${MAX_PROOF_BYTES} bytes`);
  const whole = decodeUtf8(bytes);
  if (whole === undefined) return invalid("expected UTF-8");
  const blank = whole.indexOf("\n\n");
  if (blank === -1) return invalid("expected an empty line before the checkpoint");
  const [header, ...lines] = whole.slice(0, blank).split("\n");
  if (header !== HEADER) return invalid(`expected ${HEADER} in the first line`);
  const extra = lines[0]?.startsWith(EXTRA) === true ? (lines.shift()?.slice(EXTRA.length) ?? null) : null;
  if (extra !== null && decodeBase64(extra) === undefined) return invalid("expected base64 after extra");
  const decimal = lines.shift() ?? "";
  const index = decimal.startsWith(INDEX) ? readDecimal(decimal.slice(INDEX.length)) : undefined;
  if (index === undefined) return invalid(`expected index and a number, found ${quoteText(decimal)}`);
  const hashes: Hash32[] = [];
  for (const line of lines) {
    const hash = decodeHash(line);
    if (hash === undefined) return invalid(`expected the base64 of 32 bytes, found ${quoteText(line)}`);
    hashes.push(hash);
  }
  const reading = readSignedNote(Buffer.from(whole.slice(blank + 2)));
  return reading.kind === "invalid" ? reading : { kind: "ok", proof: { extra, index, hashes, note: reading.note } };
}
