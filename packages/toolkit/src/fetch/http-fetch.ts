/** http_fetch: one URL by curl through the egress proxy, and what its server said. */
import { type BoxRun, escapeText, hostOfFetchUrl } from "@boxmaker/proto";
import { boundText } from "../bounded-text.ts";
import { fail, succeed, type ToolResult } from "../tool-result.ts";
import { BOX_PLACES, curlArguments, type FetchPlaces } from "./curl-arguments.ts";
import { judgeRedirect } from "./redirect.ts";
import { MAX_HEAD, type Response, readResponse } from "./response.ts";
import { runCurl } from "./run-curl.ts";

/** The most of a body that is kept, in bytes (1 MiB). */
export const MAX_BODY = 1024 * 1024;

const TOOL = "http_fetch";
const MAX_REDIRECTS = 5;

type Terms = BoxRun["body"]["fetch"];

/** Fetches `url`, and keeps at most `cap` bytes of the body. Null terms are those of a box that has no way to the network. */
export async function httpFetch(url: string, terms: Terms, cap: number, places: FetchPlaces = BOX_PLACES): Promise<ToolResult> {
  if (terms === null) return fail(TOOL, url, "this box has no way to the network");
  if (hostOfFetchUrl(url) === undefined) return fail(TOOL, url, "not a URL that can be fetched");
  const limit = Math.min(cap, MAX_BODY);
  const deadline = AbortSignal.timeout(terms.limit_ms);
  const hops: string[] = [];
  let redirects = 0;
  for (let { href } = new URL(url); ; ) {
    const transfer = await runCurl(curlArguments(href, places, terms.limit_ms), places.curl, MAX_HEAD + limit, deadline);
    if (transfer.kind === "late") return fail(TOOL, href, `no answer within ${terms.limit_ms} ms`);
    if (transfer.kind === "failed") return fail(TOOL, href, transfer.problem);
    const response = readResponse(transfer.bytes);
    if (response === undefined) return fail(TOOL, href, `the response has no head of at most ${MAX_HEAD} bytes`);
    const redirect = judgeRedirect(href, response, terms.follow_redirects && redirects < MAX_REDIRECTS);
    if (redirect.kind !== "follow") {
      const notes = redirect.kind === "stay" ? [redirect.note] : [];
      return render(hops, response, notes, limit, transfer.isCut);
    }
    redirects++;
    hops.push(escapeText(response.statusLine), `[followed to ${redirect.href}]`);
    href = redirect.href;
  }
}

/**
 * The hops, the status line, notes, an empty line, and the body. A line in brackets before the empty one is always ours: a status line
 * is one line, and begins otherwise.
 */
function render(
  hops: readonly string[],
  { statusLine, body }: Response,
  notes: readonly string[],
  limit: number,
  isCut: boolean,
): ToolResult {
  const { text, dropped } = boundText(body, limit, isCut);
  const truncated = isCut || dropped > 0;
  const all = truncated ? [...notes, `the body is longer than the ${limit} bytes that follow`] : notes;
  const head = [...hops, escapeText(statusLine), ...all.map((note) => `[${note}]`)].join("\n");
  return succeed(`${head}\n\n${text}`, truncated);
}
