/** The part of a chat completion request that a model server looks at. */
import { z } from "zod";
import { type ErrorBody, errorBody } from "./error-body.ts";

const Content = z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().nullish() }))]).nullish();

/** A call in an assistant message of the history. */
export const HistoryCall = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export type HistoryCall = z.infer<typeof HistoryCall>;

/** One message of the history. */
export const ChatMessage = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: Content,
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(HistoryCall).nullish(),
  tool_call_id: z.string().nullish(),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

const Tool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({ name: z.string() }),
});

/** A request as the servers take it: unknown keys are ignored. */
export const ChatRequest = z.looseObject({
  model: z.string().nullish(),
  messages: z.array(ChatMessage).min(1),
  tools: z.array(Tool).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  id_slot: z.int().nullish(),
  max_tokens: z.int().nullish(),
  return_progress: z.boolean().nullish(),
  timings_per_token: z.boolean().nullish(),
  reasoning_control: z.boolean().nullish(),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

/** A request, or the status and body with which llama-server refuses it. */
export type ChatRequestReading =
  | { readonly kind: "request"; readonly request: ChatRequest }
  | { readonly kind: "refused"; readonly status: number; readonly body: ErrorBody };

/**
 * Reads a request's body. As the original does, it answers 500 to some of the caller's mistakes: a body that is no JSON, `tools` of a
 * wrong shape, and a history that holds arguments which aren't a JSON object.
 */
export function readChatRequest(body: Uint8Array): ChatRequestReading {
  const json = parseJson(new TextDecoder().decode(body));
  if (json === undefined) {
    return refused(500, "parse error: the body is not valid JSON", "server_error");
  }
  const parsed = ChatRequest.safeParse(json);
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.map(String).join(".") ?? "";
    return where.startsWith("tools")
      ? refused(500, `Invalid tools: ${where}`, "server_error")
      : refused(400, `Field '${where}': ${parsed.error.issues[0]?.message ?? "invalid"}`, "invalid_request_error");
  }
  for (const call of parsed.data.messages.flatMap((message) => message.tool_calls ?? [])) {
    const value = parseJson(call.function.arguments);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return refused(500, "Failed to parse tool call arguments as JSON", "server_error");
    }
  }
  return { kind: "request", request: parsed.data };
}

/** The text of a message, its parts joined. */
export function contentText(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === "string") {
    return content;
  }
  return (content ?? []).map((part) => part.text ?? "").join("");
}

/** The value of a JSON text, or undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Text that is no JSON is an expected outcome, and undefined is no JSON value.
    return undefined;
  }
}

function refused(status: number, message: string, type: string): ChatRequestReading {
  return { kind: "refused", status, body: errorBody(status, message, type) };
}
