/** Reads one HTTP/1 request head strictly and writes it anew with the owner's key. */

/** How a request's body is delimited. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** What is put into each request. */
export interface RequestHeaders {
  /** The value of `Host`, instead of the client's. */
  readonly host: string;
  /** The value of `Authorization`. */
  readonly authorization: string;
}

/** A head to forward and what follows it, or why it is refused (fixed text, nothing of the request). */
export type HeadReading =
  | { readonly kind: "head"; readonly bytes: Buffer; readonly body: BodyFraming }
  | { readonly kind: "refused"; readonly reason: string };

/** The most header lines of one request. */
const MAX_HEADERS = 128;

/** A target that names another server would outrank `Host` there, and take the key to it: only paths are forwarded. */
const REQUEST_LINE = /^(?<method>[A-Z][A-Z-]{0,30}) \/[\x21-\x7e]* HTTP\/1\.(?<minor>[01])$/u;
const HEADER_LINE = /^(?<name>[!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(?<value>[\t\x20-\x7e\x80-\xff]*)$/u;

/** Headers that would speak for somebody: nobody but the proxy does, so that a request with one isn't a client's of ours. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "x-api-key"]);

/** What may not come after a body: whoever reads it there could take it for a header. */
const NOT_IN_TRAILER: ReadonlySet<string> = new Set([
  ...CREDENTIALS,
  "connection",
  "content-length",
  "expect",
  "host",
  "transfer-encoding",
  "upgrade",
]);

interface Header {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

function readHeader(line: string): Header | undefined {
  const groups = HEADER_LINE.exec(line)?.groups;
  if (groups === undefined) {
    return undefined;
  }
  // HTTP's white space and no other: a byte that only we took for a space would make us and the server read two lengths.
  return { name: (groups["name"] ?? "").toLowerCase(), value: (groups["value"] ?? "").replace(/[\t ]+$/u, "") };
}

/**
 * Reads the head in `text` (one character per byte, its empty line included).
 *
 * Strict, since proxy and server must agree where each request ends: no folded or malformed line, one way to delimit the body.
 */
export function readRequestHead(text: string, added: RequestHeaders): HeadReading {
  const [requestLine = "", ...lines] = text.slice(0, -"\r\n\r\n".length).split("\r\n");
  const request = REQUEST_LINE.exec(requestLine)?.groups;
  if (request === undefined) {
    return refused("malformed request line");
  }
  if (lines.length > MAX_HEADERS) {
    return refused("too many headers");
  }
  const kept: string[] = [];
  const lengths: string[] = [];
  const codings: string[] = [];
  for (const line of lines) {
    const header = readHeader(line);
    if (header === undefined) {
      return refused("malformed header");
    }
    const { name, value } = header;
    if (CREDENTIALS.has(name)) {
      return refused("credentials of the client's own");
    }
    if (name === "upgrade") {
      return refused("upgrade to another protocol");
    }
    if (name === "content-length") {
      lengths.push(value);
    } else if (name === "transfer-encoding") {
      codings.push(value);
    }
    if (name !== "host") {
      kept.push(line);
    }
  }
  const body = framing(lengths, codings, request["minor"] === "1");
  if (body === undefined) {
    return refused("unclear length of the body");
  }
  const head = [requestLine, `Host: ${added.host}`, `Authorization: ${added.authorization}`, ...kept, "", ""].join("\r\n");
  return { kind: "head", bytes: Buffer.from(head, "latin1"), body };
}

/** Why the trailer of a chunked body in `text` (its empty line included) is refused, as fixed text; null where it isn't. */
export function trailerFault(text: string): string | null {
  const lines = text.slice(0, -"\r\n\r\n".length).split("\r\n");
  if (lines.length > MAX_HEADERS) {
    return "too many headers";
  }
  const sound = lines.every((line) => {
    const header = readHeader(line);
    return header !== undefined && !NOT_IN_TRAILER.has(header.name);
  });
  return sound ? null : "malformed trailer";
}

function framing(lengths: readonly string[], codings: readonly string[], mayBeChunked: boolean): BodyFraming | undefined {
  const [length] = lengths;
  const [coding] = codings;
  if (lengths.length + codings.length > 1) {
    return undefined;
  }
  if (coding !== undefined) {
    return mayBeChunked && coding.toLowerCase() === "chunked" ? { kind: "chunked" } : undefined;
  }
  if (length === undefined) {
    return { kind: "none" };
  }
  return /^[0-9]{1,15}$/u.test(length) ? { kind: "length", bytes: Number(length) } : undefined;
}

function refused(reason: string): HeadReading {
  return { kind: "refused", reason };
}
