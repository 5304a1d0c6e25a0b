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

function tell(body: unknown): Told {
  const parsed = parseShape(ServerError, body);
  if (parsed.kind === "invalid") return { message: "", type: "" };
  const { value } = parsed;
  if (!("error" in value)) return { message: String(value["message"] ?? ""), type: String(value["type"] ?? "") };
  const { error } = value;
  if (typeof error === "string") return { message: error, type: "" };
  if (typeof error === "object" && error !== null) {
    const message = "message" in error && typeof error.message === "string" ? error.message : "";
    const type = "type" in error ? String(error.type ?? "") : "";
    return { message, type };
  }
  return { message: "", type: "" };
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
  if (status === 502 || status === 503) return { code: "loading", detail };
  return { code: "server_error", detail };
}
