/** HTTP to the model server over its Unix socket: one connection a request, bounded bodies, failures told apart. */
import { type JsonReading, readForeignJson } from "@boxmaker/proto";
import { type Dispatcher, Pool } from "undici";
import { errnoOf } from "../errors.ts";

/** `unreachable`: nothing was sent. `closed`: the connection ended early. `bad`: what came isn't HTTP. `aborted`: by the signal. */
export type HttpFailure = "unreachable" | "closed" | "bad" | "aborted";

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly failure: HttpFailure;

  constructor(failure: HttpFailure, cause: unknown) {
    super(`the request to the model server failed: ${failure} (${errnoOf(cause)})`, { cause });
    this.failure = failure;
  }
}

/** A reply whose body is still to be read. */
export interface OpenReply {
  readonly status: number;
  readonly contentType: string;
  /** The body's pieces as they arrive. Throws {@link HttpError}; leaving the loop closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A whole small reply. */
export interface SmallReply {
  readonly status: number;
  readonly json: JsonReading;
}

export interface SmallRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string | null;
  readonly signal: AbortSignal;
}

const MAX_SMALL_BODY = 4 * 1024 * 1024;
const NOT_CONNECTED = new Set(["ENOENT", "ECONNREFUSED", "EACCES", "EAGAIN", "ENOTSOCK", "UND_ERR_CONNECT_TIMEOUT"]);
const CLOSED = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"]);

/** The end of the connection inside a reply's framing comes as a parser's error, which has no code of its own. */
function isEarlyEnd(error: unknown): boolean {
  return error instanceof Error && error.name === "HTTPParserError" && error.message.includes("Invalid EOF state");
}

function toHttpError(error: unknown, signal: AbortSignal): HttpError {
  if (error instanceof HttpError) return error;
  if (signal.aborted) return new HttpError("aborted", error);
  const code = errnoOf(error);
  if (NOT_CONNECTED.has(code)) return new HttpError("unreachable", error);
  return new HttpError(CLOSED.has(code) || isEarlyEnd(error) ? "closed" : "bad", error);
}

async function* pieces(body: AsyncIterable<unknown>, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const piece of body) {
      if (piece instanceof Uint8Array) yield piece;
    }
  } catch (error) {
    throw toHttpError(error, signal);
  }
}

/**
 * The text of a body, decoded leniently.
 *
 * @returns undefined when it is longer than `maxBytes`; the rest isn't read
 */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) return undefined;
    read.push(piece);
  }
  return Buffer.concat(read).toString("utf8");
}

/** The client of one model server. Disposing ends what is still open. */
export class ModelHttp implements AsyncDisposable {
  readonly #pool: Pool;

  constructor(socketPath: string, connectMs: number) {
    // No keep-alive: a connection that the server closed meanwhile would fail the next request in a way that can't be told from a
    // request that was taken and lost. No timeouts of its own: the callers' clocks know what the server is doing.
    this.#pool = new Pool("http://localhost", {
      socketPath,
      connectTimeout: connectMs,
      pipelining: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Posts JSON and returns as soon as the head of the reply is there. @throws {HttpError} */
  async open(path: string, body: string, signal: AbortSignal): Promise<OpenReply> {
    const reply = await this.#send({ method: "POST", path, body, signal });
    const contentType = reply.headers["content-type"];
    return {
      status: reply.statusCode,
      contentType: typeof contentType === "string" ? contentType : "",
      body: pieces(reply.body, signal),
    };
  }

  /** One request with a small reply, whose body is read as JSON whatever the status. @throws {HttpError} */
  async ask(request: SmallRequest): Promise<SmallReply> {
    const reply = await this.#send(request);
    const text = await readText(pieces(reply.body, request.signal), MAX_SMALL_BODY);
    const json: JsonReading = text === undefined ? { kind: "invalid", problem: "too large" } : readForeignJson(text);
    return { status: reply.statusCode, json };
  }

  async #send({ method, path, body, signal }: SmallRequest): Promise<Dispatcher.ResponseData> {
    try {
      return await this.#pool.request({
        method,
        path,
        body,
        headers: body === null ? {} : { "content-type": "application/json" },
        signal,
      });
    } catch (error) {
      throw toHttpError(error, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }
}
