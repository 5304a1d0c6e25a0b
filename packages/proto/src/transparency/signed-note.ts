/** C2SP signed notes: a text, and lines below it in which keys sign it. Reading one says nothing about who signed it. */
import { decodeUtf8 } from "../json/read-json.ts";
import { quoteText } from "../text/escape-text.ts";
import { decodeBase64 } from "./base64.ts";

/** The most bytes and the most signatures that are read. */
export const MAX_NOTE_BYTES = 128 * 1024;
const MAX_SIGNATURES = 64;
const KEY_ID_BYTES = 4;
const LINE_START = "— ";
const CONTROL_CHARACTER = /[^\P{Cc}\n\u{7f}-\u{9f}]/u;
const NO_KEY_NAME = /[\p{White_Space}+]|^$/u;

/** One signature line: who says to have signed, and the base64 of key id and signature, as it stands there. */
export interface NoteSignature {
  readonly name: string;
  /** 8 lower-case hex digits. */
  readonly keyId: string;
  readonly base64: string;
}

/** `text` ends in a newline. */
export interface SignedNote {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export type NoteReading =
  | { readonly kind: "ok"; readonly note: SignedNote }
  | { readonly kind: "invalid"; readonly problem: string };

/** Whether a key may be called so: no white space, no plus, not empty. */
export function isKeyName(name: string): boolean {
  return !NO_KEY_NAME.test(name) && !CONTROL_CHARACTER.test(name);
}

/** Reads the form of a note. Every signature is kept, of whatever key and kind. */
export function readSignedNote(bytes: Uint8Array): NoteReading {
  const invalid = (problem: string): NoteReading => ({ kind: "invalid", problem });
  if (bytes.length > MAX_NOTE_BYTES) return invalid(`expected a note of at most ${MAX_NOTE_BYTES} bytes`);
  const whole = decodeUtf8(bytes);
  if (whole === undefined) return invalid("expected UTF-8");
  if (CONTROL_CHARACTER.test(whole)) return invalid("expected no control characters but newlines");
  const blank = whole.lastIndexOf("\n\n");
  if (blank === -1) return invalid("expected an empty line between text and signatures");
  const lines = whole.slice(blank + 2).split("\n");
  if (lines.pop() !== "" || lines.length === 0) return invalid("expected signature lines that each end in a newline");
  if (lines.length > MAX_SIGNATURES) return invalid(`expected at most ${MAX_SIGNATURES} signatures`);
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const signature = readSignatureLine(line);
    if (signature === undefined) return invalid(`expected a signature line, found ${quoteText(line)}`);
    signatures.push(signature);
  }
  return { kind: "ok", note: { text: whole.slice(0, blank + 1), signatures } };
}

/** One signature line without its newline, or undefined where it is none. */
export function readSignatureLine(line: string): NoteSignature | undefined {
  if (!line.startsWith(LINE_START)) return undefined;
  const [name = "", base64 = "", ...rest] = line.slice(LINE_START.length).split(" ");
  const bytes = decodeBase64(base64);
  if (rest.length > 0 || !isKeyName(name) || bytes === undefined || bytes.length <= KEY_ID_BYTES) return undefined;
  return { name, keyId: bytes.toString("hex", 0, KEY_ID_BYTES), base64 };
}

/**
 * The note as a file.
 *
 * @throws {RangeError} when that file wouldn't be read as the same note
 */
export function writeSignedNote({ text, signatures }: SignedNote): string {
  const file = `${text}\n${signatures.map(({ name, base64 }) => `${LINE_START}${name} ${base64}\n`).join("")}`;
  const reading = readSignedNote(Buffer.from(file));
  if (reading.kind === "invalid") throw new RangeError(reading.problem);
  if (reading.note.text !== text) throw new RangeError("expected a text that ends in a newline and stands before its signatures");
  return file;
}

/** The bytes of a signature without the key's id. */
export function signatureBytes({ base64 }: NoteSignature): Uint8Array {
  return Buffer.from(base64, "base64").subarray(KEY_ID_BYTES);
}
