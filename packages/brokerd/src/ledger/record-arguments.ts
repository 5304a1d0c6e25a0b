/** What the log keeps of a call's arguments: typed values, long texts by hash. */
import { type BlobRef, type Hash32, MAX_INLINE_BYTES, type RecordedArguments, sha256, type ToolCall } from "@boxmaker/proto";

/** How policy saw the arguments: parsed, or (unknown tool, no shape) only as the text that came. */
export type DecidedArguments =
  | { readonly form: "typed"; readonly call: ToolCall }
  | { readonly form: "unread"; readonly text: string };

/** The record's form, and the texts that must be kept by hash before the record is written. */
export interface Recorded {
  readonly arguments: RecordedArguments;
  readonly blobs: ReadonlyMap<Hash32, string>;
}

function refer(text: string): BlobRef {
  return { sha256: sha256(text), bytes: Buffer.byteLength(text) };
}

/** Paths and short texts stay readable in the record; a longer text becomes a reference. Of unread arguments nothing is kept but size and hash. */
export function recordArguments(decided: DecidedArguments): Recorded {
  const blobs = new Map<Hash32, string>();
  if (decided.form === "unread") return { arguments: { form: "unread", text: refer(decided.text) }, blobs };
  const values: Record<string, string | BlobRef> = {};
  for (const [name, value] of Object.entries(decided.call.arguments)) {
    if (typeof value !== "string") continue;
    if (name === "path" || name === "cwd" || Buffer.byteLength(value) <= MAX_INLINE_BYTES) {
      values[name] = value;
      continue;
    }
    const reference = refer(value);
    blobs.set(reference.sha256, value);
    values[name] = reference;
  }
  return { arguments: { form: "typed", values }, blobs };
}
