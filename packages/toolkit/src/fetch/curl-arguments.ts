/** curl's command line: fixed, but for the URL and the time. Nothing of it is the model's text. */

/** Where a box finds what a fetch needs. */
export interface FetchPlaces {
  readonly curl: string;
  /** The egress proxy's socket: the only way out. */
  readonly proxySocket: string;
  /** Certificates to trust, or null for those that curl was built with. */
  readonly certificates: string | null;
}

/** Those of every box. */
export const BOX_PLACES: FetchPlaces = {
  curl: "/usr/bin/curl",
  proxySocket: "/run/boxmaker/egress/proxy.sock",
  certificates: null,
};

/** Longer than the proxy takes to say no, so that it's the proxy's answer that is told. */
const CONNECT_SECONDS = 12;

/** A body that is said to be longer isn't begun, in bytes (64 MiB). What is kept of one is far less. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** How much later than the fetch's own deadline, which is for all of its requests, curl gives up by itself. */
const GRACE_MS = 1_000;

/** Arguments for one request of a URL that was parsed: `href` as a WHATWG URL spells itself. */
export function curlArguments(href: string, { proxySocket, certificates }: FetchPlaces, limitMs: number): readonly string[] {
  return [
    // First, or curl reads a file of options before it reads this.
    "-q",
    "--silent",
    "--show-error",
    "--include",
    // One URL is one request, whatever brackets and braces it has, and its path is sent as it stands.
    "--globoff",
    "--path-as-is",
    "--http1.1",
    "--proto",
    "=http,https",
    "--proto-redir",
    "=http,https",
    // Each hop is judged here, not by curl.
    "--max-redirs",
    "0",
    "--noproxy",
    "",
    "--proxy",
    `socks5h://localhost${proxySocket}`,
    "--connect-timeout",
    String(CONNECT_SECONDS),
    "--max-time",
    ((limitMs + GRACE_MS) / 1000).toFixed(3),
    "--max-filesize",
    String(MAX_FILE_BYTES),
    "--user-agent",
    "boxmaker",
    ...(certificates === null ? [] : ["--cacert", certificates]),
    "--url",
    href,
  ];
}
