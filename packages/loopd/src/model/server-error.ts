/** What a model server's refusal means, in the few words that a turn needs. */
import { escapeText, parseShape } from "@boxmaker/proto";
import type { ModelErrorCode } from "./model-error.ts";
import { ServerError } from "./server-messages.ts";

const MAX_DETAIL = 300;
/** The wordings of "the prompt is longer than the context" of llama-server, vLLM, LM Studio and OpenAI. */
const CONTEXT_WORDINGS =
  /exceed_context_size|context_length_exceeded|maximum context length|exceeds the available context|context size has been exceeded|greater than the context length/iu;

/** A refusal, classified. `detail` is one printable line. */
export interface ClassifiedError {
  readonly code: Extract<ModelErrorCode, "loading" | "context_full" | "server_error">;
  readonly detail: string;
}

interface Told {
  readonly message: string;
  readonly type: string;
}

/** The text of a member that servers disagree about the type of; empty where it is none. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function tell(body: unknown): Told {
  const parsed = parseShape(ServerError, body);
  if (parsed.kind === "invalid") return { message: "", type: "" };
  const error: unknown = parsed.value["error"] ?? parsed.value;
  if (typeof error !== "object" || error === null) return { message: textOf(error), type: "" };
  return { message: "message" in error ? textOf(error.message) : "", type: "type" in error ? textOf(error.type) : "" };
}

/**
 * Classifies a refusal.
 *
 * @param status the HTTP status; 200 for an error inside a stream
 * @param body the body as read, undefined where it couldn't be
 */
export function readServerError(status: number, body: unknown): ClassifiedError {
  const { message, type } = tell(body);
  const said = message === "" ? "" : `: ${escapeText(message).slice(0, MAX_DETAIL)}`;
  const where = status === 200 ? "the model server failed in mid-reply" : `the model server answered ${status}`;
  const detail = `${where}${said}`;
  if (CONTEXT_WORDINGS.test(`${type} ${message}`)) return { code: "context_full", detail };
  if (status === 502 || status === 503 || status === 504) return { code: "loading", detail };
  return { code: "server_error", detail };
}
