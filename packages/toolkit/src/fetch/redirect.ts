/** Where a response sends a fetch, and whether the same call may go there. */
import { escapeText, hostOfFetchUrl, quoteText } from "@boxmaker/proto";
import type { Response } from "./response.ts";

/** `href` is a URL that the same call may fetch; `note` says on one line where a response that isn't followed leads. */
export type Redirect =
  | { readonly kind: "none" }
  | { readonly kind: "follow"; readonly href: string }
  | { readonly kind: "stay"; readonly note: string };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function stay(note: string): Redirect {
  return { kind: "stay", note };
}

/**
 * Judges a response to `from`, a URL as it spells itself. Another host, or http where https was, is for a call of its own, which is
 * judged and recorded; `mayFollow` says whether the same host is, too.
 */
export function judgeRedirect(from: string, { status, location }: Response, mayFollow: boolean): Redirect {
  if (!REDIRECTS.has(status) || location === null) return { kind: "none" };
  if (!URL.canParse(location, from)) return stay(`leads to ${quoteText(location)}, which is no URL`);
  const target = new URL(location, from);
  target.hash = "";
  const { href } = target;
  const host = hostOfFetchUrl(href);
  if (host === undefined) return stay(`leads to ${escapeText(href)}, which can't be fetched`);
  const isSafe = href.startsWith("https:") || from.startsWith("http:");
  if (!mayFollow || !isSafe || host !== hostOfFetchUrl(from)) return stay(`leads to ${href}: fetch that in a call of its own`);
  return { kind: "follow", href };
}
