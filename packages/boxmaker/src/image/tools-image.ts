/** Names of the tools image and of what goes into it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "@boxmaker/proto";
import { PACKAGES } from "./image-root.ts";

/** The bundled toolkit in the source tree. */
export const TOOLKIT = join(import.meta.dirname, "..", "..", "..", "toolkit", "dist", "toolkit.mjs");

const TAG_DIGITS = 16;

/**
 * The local name of the image with this toolkit in it: another toolkit or another list of packages makes another image.
 *
 * @throws {Error} when the toolkit can't be read
 */
export async function imageName(toolkit: string): Promise<string> {
  const parts = [sha256(await readFile(toolkit)), ...PACKAGES];
  return `localhost/boxmaker-tools:${sha256(parts.join("\n")).slice(0, TAG_DIGITS)}`;
}
