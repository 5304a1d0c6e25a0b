/** Answers that a test gives in place of the server's own: another server's, or a hostile one's. */

/** A status, a body as it is, and headers beside `Content-Type: application/json`; or the connection is closed without an answer. */
export type CannedAnswer =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | "hang-up";

/** Decides by `METHOD /path?query`. Undefined leaves the answer to the server. */
export type CannedRoutes = (route: string) => CannedAnswer | undefined;
