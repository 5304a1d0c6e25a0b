/** Reads the certificates that the owner trusts for an https upstream. */
import { X509Certificate } from "node:crypto";
import { quoteText } from "@boxmaker/proto";
import { errorCode } from "../error-code.ts";
import type { StartRefusal } from "./refusal.ts";
import { readRegularFile } from "./regular-file.ts";

/** Room for every public authority there is, several times. */
const MAX_CA_BYTES = 4 * 1024 * 1024;

/** What {@link readCaFile} found; `ca` is PEM. */
export type CaFileResult =
  | { readonly kind: "ca"; readonly ca: string }
  | { readonly kind: "refused"; readonly refusal: StartRefusal };

/** Reads a PEM file that begins with at least one certificate. */
export async function readCaFile(path: string): Promise<CaFileResult> {
  try {
    const reading = await readRegularFile(path, MAX_CA_BYTES);
    if (reading.kind === "other") {
      return refused(path, reading.why);
    }
    // Throws for a file that holds no certificate: TLS would take it silently and then trust nobody.
    new X509Certificate(reading.text);
    return { kind: "ca", ca: reading.text };
  } catch (error) {
    // Without the certificate that the owner named, no server is trusted and the program doesn't start.
    return refused(path, errorCode(error));
  }
}

function refused(path: string, why: string): CaFileResult {
  const message = `cannot read the certificates in ${quoteText(path)} (${why})`;
  return { kind: "refused", refusal: { message, runbook: "docs/runbook.md#inferproxy-ca-file" } };
}
