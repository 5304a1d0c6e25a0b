/** http_fetch: one URL by curl through the egress proxy, and what its server said. */
import { type BoxRun, hostOfFetchUrl } from "@boxmaker/proto";
import { boundText } from "../bounded-text.ts";
import { fail, succeed, type ToolResult } from "../tool-result.ts";
import { BOX_PLACES, curlArguments, type FetchPlaces } from "./curl-arguments.ts";
import { judgeRedirect } from "./redirect.ts";
import { MAX_HEAD, type Response, readResponse } from "./response.ts";
import { runCurl } from "./run-curl.ts";
import { type Hop, showHeads } from "./show-heads.ts";

/** The most of a body that is kept, in bytes (1 MiB). */
export const MAX_BODY = 1024 * 1024;

const TOOL = "http_fetch";
const MAX_REDIRECTS = 5;
/** The most that is shown of the heads of all responses, in bytes. */
const MAX_SHOWN_HEADS = 8 * 1024;
/** What they have beside the body's cap; what they take beyond it, the body doesn't get. */
const HEADS_BESIDE_BODY = 3 * 1024;

type Terms = BoxRun["body"]["fetch"];

/** Fetches `url`, and keeps at most `cap` bytes of the body. Null terms are those of a box that has no way to the network. */
export async function httpFetch(url: string, terms: Terms, cap: number, places: FetchPlaces = BOX_PLACES): Promise<ToolResult> {
  if (terms === null) return fail(TOOL, url, "this box has no way to the network");
  if (hostOfFetchUrl(url) === undefined) return fail(TOOL, url, "not a URL that can be fetched");
  const limit = Math.min(cap, MAX_BODY);
  const deadline = AbortSignal.timeout(terms.limit_ms);
  const hops: Hop[] = [];
  for (let { href } = new URL(url); ; ) {
    const transfer = await runCurl(curlArguments(href, places, terms.limit_ms), places.curl, MAX_HEAD + limit, deadline);
    if (transfer.kind === "late") return fail(TOOL, href, `no answer within ${terms.limit_ms} ms`);
    if (transfer.kind === "failed") return fail(TOOL, href, transfer.problem);
    const response = readResponse(transfer.bytes);
    if (response === undefined) return fail(TOOL, href, `the response has no head of at most ${MAX_HEAD} bytes`);
    const redirect = judgeRedirect(href, response, terms.follow_redirects && hops.length < MAX_REDIRECTS);
    if (redirect.kind !== "follow") {
      const note = redirect.kind === "stay" ? redirect.note : null;
      return render(hops, response, note, limit, transfer.isCut);
    }
    hops.push({ statusLine: response.statusLine, href: redirect.href });
    href = redirect.href;
  }
}

/**
 * The hops, the status line, notes, an empty line, and the body. A line in brackets before the empty one is always ours: a status line
 * is one line, and begins otherwise.
 */
function render(
  hops: readonly Hop[],
  { statusLine, body }: Response,
  note: string | null,
  limit: number,
  isBodyCut: boolean,
): ToolResult {
  const heads = showHeads(hops, statusLine, note, Math.min(MAX_SHOWN_HEADS, HEADS_BESIDE_BODY + limit));
  const head = heads.lines.join("\n");
  const room = Math.max(0, limit - Math.max(0, Buffer.byteLength(head) - HEADS_BESIDE_BODY));
  const { text, dropped } = boundText(body, room, isBodyCut);
  const isBodyLonger = isBodyCut || dropped > 0;
  const bodyNote = isBodyLonger ? `\n[the body is longer than the ${room} bytes that follow]` : "";
  return succeed(`${head}${bodyNote}\n\n${text}`, heads.isCut || isBodyLonger);
}
