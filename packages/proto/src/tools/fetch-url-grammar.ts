/** The grammar of URLs that may be fetched, apart from the schema: the toolkit judges redirects by it without loading zod. */
import { isHostName } from "./host-grammar.ts";

const MAX_URL_BYTES = 8192;
const SHAPE = /^(https?):\/\/([^/?#:@\\]+)(?::([0-9]+))?\/[\x21-\x7e]*$/u;
const DEFAULT_PORT: Readonly<Record<string, string>> = { http: "80", https: "443" };

/** The host of a URL in a spelling on which URL parsers agree; undefined for every other text. */
export function hostOfFetchUrl(text: string): string | undefined {
  if (text.length > MAX_URL_BYTES || /[\\#]/u.test(text)) return undefined;
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [, scheme = "", authority = "", port] = match;
  if (port !== undefined && port !== DEFAULT_PORT[scheme]) return undefined;
  if (!isHostName(authority) || !URL.canParse(text) || new URL(text).hostname !== authority) return undefined;
  return authority;
}
