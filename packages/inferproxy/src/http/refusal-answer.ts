/** What a client is told over HTTP where the proxy itself, and not the inference server, can't do what was asked. */

/** Why the proxy answers by itself. A client finds it in the answer's header `X-Inferproxy`. */
export type RefusalCause =
  /** The inference server can't be reached: the same request may work later. */
  | "upstream-away"
  /** The request can't be forwarded as it is: it will never work. */
  | "request-refused";

const STATUS = {
  "upstream-away": { code: 502, phrase: "Bad Gateway", said: "inferproxy can't reach the model server" },
  "request-refused": { code: 400, phrase: "Bad Request", said: "inferproxy doesn't forward this request" },
} as const;

/**
 * The whole answer, after which the connection ends: JSON in the shape of the inference servers' own errors, with a `type` that
 * none of them has.
 *
 * @param detail a code or fixed text, nothing that a peer wrote
 */
export function refusalAnswer(cause: RefusalCause, detail: string): Buffer {
  const { code, phrase, said } = STATUS[cause];
  const error = { code, message: `${said} (${detail})`, type: `inferproxy_${cause.replaceAll("-", "_")}` };
  const body = JSON.stringify({ error });
  const head = [
    `HTTP/1.1 ${code} ${phrase}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Inferproxy: ${cause}`,
    "Connection: close",
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
