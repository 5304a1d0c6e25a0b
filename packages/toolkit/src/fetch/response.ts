/** Reads what curl prints with --include: the head of the response, and where the body begins. */

/** `statusLine` and `location` are a server's words. `location` is null where there is none. */
export interface Response {
  readonly statusLine: string;
  readonly status: number;
  readonly location: string | null;
  readonly body: Buffer;
}

/** The largest head, interim responses included, in bytes (64 KiB). */
export const MAX_HEAD = 64 * 1024;

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const STATUS_LINE = /^HTTP\/[0-9.]+ ([0-9]{3})(?: .*)?$/u;
const LOCATION = /^location:[ \t]*(.*?)[ \t]*$/iu;

interface Head {
  readonly lines: readonly string[];
  readonly end: number;
}

/** The lines up to the empty one, from `start` on; undefined where there is none within {@link MAX_HEAD} bytes of the beginning. */
function readHead(bytes: Buffer, start: number): Head | undefined {
  const lines: string[] = [];
  for (let at = start; ; ) {
    const end = bytes.indexOf(NEWLINE, at);
    if (end === -1 || end >= MAX_HEAD) return undefined;
    const line = bytes.subarray(at, end > at && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end);
    at = end + 1;
    if (line.length === 0) return { lines, end: at };
    lines.push(line.toString("utf8"));
  }
}

/** The response, or undefined where it has no head of a bearable size. Interim responses (1xx) before it are skipped. */
export function readResponse(bytes: Buffer): Response | undefined {
  for (let start = 0; ; ) {
    const head = readHead(bytes, start);
    if (head === undefined) return undefined;
    const [statusLine = "", ...fields] = head.lines;
    const status = Number(STATUS_LINE.exec(statusLine)?.[1] ?? "0");
    if (status === 0) return undefined;
    start = head.end;
    if (status < 200 && status !== 101) continue;
    const location = fields.map((field) => LOCATION.exec(field)?.[1]).find((value) => value !== undefined) ?? null;
    return { statusLine, status, location, body: bytes.subarray(start) };
  }
}
