/** What a model server's refusal means, in the few words that a turn needs. */
import { escapeText, parseShape } from "@boxmaker/proto";
import type { ModelErrorCode } from "./model-error.ts";
import { ServerError } from "./server-messages.ts";

const MAX_DETAIL = 300;
/**
 * The wordings of "the prompt is longer than the context" of llama-server, vLLM, LM Studio, Ollama, SGLang, the Python binding of
 * llama.cpp and OpenAI. Servers that say nothing and cut the prompt can't be told from ones where it fitted.
 */
const CONTEXT_WORDINGS = [
  /exceed_context_size|context_length_exceeded|context_window_exceeded/iu,
  /(?:exceeds?|longer than|greater than|overflows?|larger than) (?:the |this )?(?:model'?s? )?(?:available |maximum |allowed )?context/iu,
  /(?:maximum|model's|allowed|reached) context (?:length|size|window)/iu,
  /context (?:length|size|window) (?:has been )?(?:exceeded|of only)/iu,
  /longer than the maximum model length/iu,
  /exceeds? (?:the )?(?:maximum model length|context window)/iu,
  /model is loaded with context length of only/iu,
];
/** What inferproxy says where the model server itself can't be reached. */
const PROXY_AWAY = "inferproxy_upstream_away";

/** A refusal, classified. `detail` is one printable line. */
export interface ClassifiedError {
  readonly code: Extract<ModelErrorCode, "unreachable" | "loading" | "context_full" | "server_error">;
  readonly detail: string;
}

interface Told {
  readonly message: string;
  readonly type: string;
  readonly code: string;
}

/** The text of a member that servers disagree about the type of; empty where it is none. */
function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function tell(body: unknown): Told {
  const parsed = parseShape(ServerError, body);
  if (parsed.kind === "invalid") return { message: "", type: "", code: "" };
  const error: unknown = parsed.value["error"] ?? parsed.value;
  if (typeof error !== "object" || error === null) return { message: textOf(error), type: "", code: "" };
  return {
    message: "message" in error ? textOf(error.message) : "",
    type: "type" in error ? textOf(error.type) : "",
    code: "code" in error ? textOf(error.code) : "",
  };
}

/**
 * Classifies a refusal.
 *
 * @param status the HTTP status; 200 for an error inside a stream
 * @param body the body as read, undefined where it couldn't be
 */
export function readServerError(status: number, body: unknown): ClassifiedError {
  const { message, type, code } = tell(body);
  const said = message === "" ? "" : `: ${escapeText(message).slice(0, MAX_DETAIL)}`;
  const where = status === 200 ? "the model server failed in mid-reply" : `the model server answered ${status}`;
  const detail = `${where}${said}`;
  if (status === 502 && type === PROXY_AWAY) return { code: "unreachable", detail: escapeText(message).slice(0, MAX_DETAIL) };
  const whole = `${type} ${code} ${message}`;
  if (CONTEXT_WORDINGS.some((wording) => wording.test(whole))) return { code: "context_full", detail };
  if (status === 502 || status === 503 || status === 504) return { code: "loading", detail };
  return { code: "server_error", detail };
}
