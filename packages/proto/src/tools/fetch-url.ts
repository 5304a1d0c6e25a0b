/** URLs that may be fetched, in a spelling on which URL parsers agree. */
import { z } from "zod";
import { hostOfFetchUrl } from "./fetch-url-grammar.ts";
import { Host } from "./host.ts";

/**
 * `https://host[:443]/…` or `http://host[:80]/…`, at most 8192 bytes of printable ASCII, without userinfo, backslash or fragment.
 * The host is read as written: upper case is refused, not folded.
 */
export const FetchUrl = z
  .string()
  .refine(
    (text) => hostOfFetchUrl(text) !== undefined,
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
  const host = Host.safeParse(hostOfFetchUrl(url));
  if (!host.success) throw new TypeError("expected a parsed URL");
  return host.data;
}
