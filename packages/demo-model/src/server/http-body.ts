/** Reads a request's body and writes JSON answers. */
import type { IncomingMessage, ServerResponse } from "node:http";

/** The longest body that is read, in bytes: far above any prompt that fits a slot. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** The whole body, or undefined if it is too long or breaks off. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      const piece: unknown = chunk;
      if (Buffer.isBuffer(piece)) {
        bytes += piece.length;
        chunks.push(piece);
      }
      if (bytes > MAX_BODY_BYTES) {
        return undefined;
      }
    }
  } catch {
    // The client has gone in the middle of its body: there is nobody to answer.
    return undefined;
  }
  return Buffer.concat(chunks);
}

/** Answers with one JSON body. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Content-Length": bytes.length });
  response.end(bytes);
}
