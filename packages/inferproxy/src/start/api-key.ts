/** Keeps the inference server's key, so that no other role has to hold it. */
import { quoteText } from "@boxmaker/proto";
import { errorCode } from "../error-code.ts";
import type { StartRefusal } from "./refusal.ts";
import { readRegularFile } from "./regular-file.ts";

/** Longer than any key in use; a bigger file is not a key. */
const MAX_KEY_BYTES = 4096;

/** A key that can be sent but neither printed nor serialised by accident. */
export class ApiKey {
  readonly #key: string;

  /** `key` is visible ASCII; anything else is a bug of the caller. */
  constructor(key: string) {
    if (!/^[\x21-\x7e]+$/u.test(key)) {
      throw new TypeError("an api key is visible ascii characters only");
    }
    this.#key = key;
  }

  /** The value of the `Authorization` header. */
  authorization(): string {
    return `Bearer ${this.#key}`;
  }
}

/** What {@link readApiKey} found. */
export type ApiKeyResult =
  | { readonly kind: "key"; readonly key: ApiKey }
  | { readonly kind: "refused"; readonly refusal: StartRefusal };

/**
 * Reads a key from a file that holds it as its one line.
 *
 * Refused: a file that everybody may read, one that is no regular file, is empty, or holds anything but visible ASCII.
 */
export async function readApiKey(path: string): Promise<ApiKeyResult> {
  let text: string;
  try {
    const reading = await readRegularFile(path, MAX_KEY_BYTES);
    if (reading.kind === "other") {
      return refused(path, reading.why);
    }
    if ((reading.mode & 0o007) !== 0) {
      return refused(path, "can be read by everybody: chmod it to 0600");
    }
    text = reading.text;
  } catch (error) {
    // Without its key the program doesn't start, so nothing is sent unauthorised.
    return refused(path, `cannot be read (${errorCode(error)})`);
  }
  const key = text.replace(/\r?\n$/u, "");
  if (!/^[\x21-\x7e]+$/u.test(key)) {
    return refused(path, "must hold the key as its one line of visible ascii characters");
  }
  return { kind: "key", key: new ApiKey(key) };
}

function refused(path: string, why: string): ApiKeyResult {
  const message = `api key file ${quoteText(path)} ${why}`;
  return { kind: "refused", refusal: { message, runbook: "docs/runbook.md#inferproxy-api-key" } };
}
