/** URLs that may be fetched, in a spelling on which URL parsers agree. */
import { z } from "zod";
import { Host } from "./host.ts";

const MAX_URL_BYTES = 8192;
const SHAPE = /^(https?):\/\/([^/?#:@\\]+)(?::([0-9]+))?\/[\x21-\x7e]*$/u;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: "80", https: "443" };

function hostOf(text: string): Host | undefined {
  if (text.length > MAX_URL_BYTES || /[\\#]/u.test(text)) return undefined;
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, scheme = "", authority = "", port] = match;
  if (port !== undefined && port !== DEFAULT_PORT[scheme]) return undefined;
  const host = Host.safeParse(authority);
  if (!host.success || !URL.canParse(text) || new URL(text).hostname !== authority) return undefined;
  return host.data;
}

/**
 * `https://host[:443]/…` or `http://host[:80]/…`, at most 8192 bytes of printable ASCII, without userinfo, backslash or fragment.
 * The host is read as written: upper case is refused, not folded.
 */
export const FetchUrl = z
  .string()
  .refine(
    (text) => hostOf(text) !== undefined,
    "expected https://host/… or http://host/… with a lower-case host name and no fragment",
  )
  .brand<"FetchUrl">();
export type FetchUrl = z.infer<typeof FetchUrl>;

/**
 * The host of a parsed URL.
 *
 * @throws {TypeError} never for a value that {@link FetchUrl} made
 */
export function hostOfUrl(url: FetchUrl): Host {
  const host = hostOf(url);
  if (host === undefined) throw new TypeError("expected a parsed URL");
  return host;
}
