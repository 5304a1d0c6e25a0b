/** Why a completion didn't come: a closed union, because each member means something else to the turn. */

/** What went wrong, for the turn and for the owner's line. */
export type ModelErrorCode =
  /** Nothing serves on the socket, or the connection failed before the request was sent. */
  | "unreachable"
  /** The server, or the proxy before it, says that it isn't ready (502, 503). */
  | "loading"
  /** The connection ended before the reply's clean end. */
  | "closed_early"
  /** No byte, or no token, for too long. */
  | "stalled"
  /** The reply didn't begin within the limit of the state that the server was in. */
  | "wait_timeout"
  /** The whole reply took too long. */
  | "deadline"
  /** What came isn't a reply as the API describes it. */
  | "bad_reply"
  /** The server refused the request, or failed. */
  | "server_error"
  /** The conversation no longer fits into the server's context. */
  | "context_full"
  /** The reply is larger than the limit. */
  | "reply_too_large"
  /** The model didn't stop thinking when it was told to. */
  | "thinking_overrun"
  /** Too many turns wait for the slot. */
  | "busy"
  /** The server has fewer slots than the session needs. */
  | "slot_missing"
  | "cancelled";

/** `detail` is one printable line: fixed text, or a server's text escaped. */
export interface ModelError {
  readonly code: ModelErrorCode;
  readonly detail: string;
  /** Whether any part of the reply had been passed on: it is announced as discarded. */
  readonly hadOutput: boolean;
}

/** Carries a {@link ModelError} from where it is noticed to the one place that returns it as a value. */
export class CompletionError extends Error {
  override readonly name = "CompletionError";
  readonly error: ModelError;

  constructor(code: ModelErrorCode, detail: string, options: { readonly hadOutput?: boolean; readonly cause?: unknown } = {}) {
    super(`the completion failed: ${code}: ${detail}`, { cause: options.cause });
    this.error = { code, detail, hadOutput: options.hadOutput ?? false };
  }
}
